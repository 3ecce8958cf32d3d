"""Wiring: the real outside world for commands, each part made when it is first asked for."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from builder.adapters.authorities import host_bundle, named_bundle
from builder.adapters.base_facts import EngineBaseReader
from builder.adapters.clock import SystemClock
from builder.adapters.contexts import ContextFolders
from builder.adapters.debian import AptArchive
from builder.adapters.engines import find_engine
from builder.adapters.files import cache_root
from builder.adapters.index import SimpleIndex
from builder.adapters.index_pages import IndexPages
from builder.adapters.interruptible import InterruptibleDownloads, InterruptibleIndex, InterruptibleRegistry
from builder.adapters.pip_config import PipConfig, read_pip_config
from builder.adapters.process import LocalProcesses
from builder.adapters.registry import HttpRegistry
from builder.adapters.state import StateFolder
from builder.adapters.uv import UvResolver
from builder.cli.environment import Environment
from builder.model.matrix import EngineName, Matrix
from builder.model.mirror import mirrored
from builder.pipeline.lock_tools import LockTools
from builder.pipeline.tools import Fetching, Tools
from builder.ports import Clock, DebianArchive, Engine, PackageIndex, ProcessRunner, Registry, Reporter, Resolver


class Services:
    """One command's world. Tests hand another one to ``builder.cli.main.run``."""

    def __init__(self, environment: Environment | None = None) -> None:
        self.environment = environment or Environment.read()
        self.stopped = threading.Event()
        self.processes: ProcessRunner = LocalProcesses()
        self.clock: Clock = SystemClock()

    def stop(self) -> None:
        """End every child and tell every loop to end."""
        self.stopped.set()
        self.processes.stop()

    @cached_property
    def cache(self) -> Path:
        """The folder of what may be fetched again; all runs of a user share it."""
        return cache_root(self.environment.variables)

    @cached_property
    def pip(self) -> PipConfig:
        """The configuration of pip on this host; where it names no certificates, those that pip trusts without."""
        config = read_pip_config(self.environment.variables)
        named = named_bundle(self.environment.variables)
        return config if config.cert else replace(config, cert=named[1] if named else host_bundle())

    @cached_property
    def index(self) -> PackageIndex:
        """Where package files come from."""
        return InterruptibleIndex(SimpleIndex(cache=self.cache, config=self.pip), self.stopped)

    @cached_property
    def resolver(self) -> Resolver:
        """What resolves Python requirements."""
        links = frozenset(link.name for link in self.pip.find_links)
        pages = IndexPages(InterruptibleDownloads(self.pip, self.stopped), links=links)
        variables = self.environment.variables
        return UvResolver(self.processes, config=self.pip, cache=self.cache, environment=variables, pages=pages)

    @cached_property
    def archive(self) -> DebianArchive:
        """Where a distribution's own packages come from."""
        return AptArchive(self.processes, self.cache)

    def registry(self, mirrors: Mapping[str, str]) -> Registry:
        """Return the client for registries, with a matrix's mirrors."""
        registry = HttpRegistry(self.environment.variables, mirrors=mirrors, cache=self.cache / "registry")
        return InterruptibleRegistry(registry, self.stopped)

    def engine(self, wanted: EngineName) -> Engine:
        """Return the engine that answers; ``HostBlockedError`` when none does."""
        return find_engine(wanted, self.processes, self.environment.variables)

    def fetching(self, reporter: Reporter) -> Fetching:
        """Return what fetching large files needs."""
        return Fetching(index=self.index, archive=self.archive, reporter=reporter, stopped=self.stopped)

    def lock_tools(self, engine: Engine, matrix: Matrix, reporter: Reporter) -> LockTools:
        """Return what locking needs."""
        reader = EngineBaseReader(
            engine=engine,
            registry=self.registry(matrix.mirrors),
            archive=self.archive,
            cache=self.cache,
            distribution=matrix.bases.distribution,
            mirrored=lambda reference: mirrored(reference, matrix.mirrors),
        )
        return LockTools(bases=reader, resolver=self.resolver, clock=self.clock, reporter=reporter)

    def tools(self, engine: Engine, state: StateFolder, reporter: Reporter, *, jobs: int | None) -> Tools:
        """Return what building and testing need."""
        contexts = ContextFolders(self.cache / "contexts" / state.key)
        contexts.clear()
        return Tools(
            engine=engine,
            index=self.index,
            archive=self.archive,
            clock=self.clock,
            reporter=reporter,
            contexts=contexts,
            records=state,
            jobs=jobs or self.environment.cpus,
            stopped=self.stopped,
        )
