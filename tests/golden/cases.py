"""One case per family of bases. Facts and hashes are illustrative: plausible, but read from no image."""

from __future__ import annotations

from builder.model.lock import BaseFacts, Installed
from builder.model.matrix import BaseKind
from builder.model.plan import DistributionRelease
from tests.golden.build import DEBIAN_PATH, LINUX_ARM64, Case, Want, case, deb, release, wheel

DEBIAN_12 = DistributionRelease(name="debian", release="12", codename="bookworm", glibc="2.36", python="3.11")
CP312 = "cp312-cp312-manylinux_2_28_x86_64"
CP311 = "cp311-cp311-manylinux_2_17_x86_64"

NGC_FACTS = BaseFacts(
    os="ubuntu",
    os_version="24.04",
    glibc="2.39",
    has_apt=True,
    python="/usr/bin/python3.12",
    python_version="3.12.3",
    pip_version="25.2",
    distributions=(
        Installed(name="torch", version="2.9.0a0+145a3a7bda.nv25.10", requires=("filelock", "sympy>=1.13.3")),
        Installed(name="torchvision", version="0.24.0a0+094e7af5", requires=("torch",)),
        Installed(name="pytorch-triton", version="3.5.0+gitc3c476f3"),
        Installed(name="numpy", version="1.26.4"),
    ),
    env={
        "PATH": f"/usr/local/nvidia/bin:/usr/local/cuda/bin:{DEBIAN_PATH}",
        "LD_LIBRARY_PATH": "/usr/local/cuda/compat/lib:/usr/local/nvidia/lib:/usr/local/nvidia/lib64",
        "CUDA_VERSION": "13.0.2.006",
        "NVIDIA_REQUIRE_CUDA": "cuda>=9.0",
        "NVIDIA_VISIBLE_DEVICES": "all",
        "NVIDIA_DRIVER_CAPABILITIES": "compute,utility,video",
        "PIP_CONSTRAINT": "/etc/pip/constraint.txt",
        "PIP_BREAK_SYSTEM_PACKAGES": "1",
    },
    constraints={"/etc/pip/constraint.txt": "numpy==1.26.4\n"},
    entrypoint=("/opt/nvidia/nvidia_entrypoint.sh",),
    workdir="/workspace",
)

NGC_PYTORCH = Want(
    framework=release("pytorch", "2.9.0a0+145a3a7bda"),
    stack=release("cuda", "13.0.2"),
    reference="nvcr.io/nvidia/pytorch:25.10-py3",
    frameworks=("torch",),
    facts=NGC_FACTS,
    packages=(
        wheel("transformers", "4.57.3"),
        wheel("tokenizers", "0.22.1", "cp39-abi3-manylinux_2_17_x86_64"),
        wheel("safetensors", "0.7.0", "cp38-abi3-manylinux_2_17_x86_64"),
        wheel("accelerate", "1.12.0"),
    ),
    apt=("git",),
    debs=(
        deb("git", "1:2.43.0-1ubuntu7.3"),
        deb("git-man", "1:2.43.0-1ubuntu7.3", "all"),
        deb("liberror-perl", "0.17029-2", "all"),
    ),
    env={"HF_HOME": "/workspace/.cache/huggingface"},
)

ROCM_PYTORCH = Want(
    framework=release("pytorch", "2.6.0"),
    stack=release("rocm", "6.4"),
    python="3.10",
    reference="rocm/pytorch:rocm6.4_ubuntu22.04_py3.10_pytorch_release_2.6.0",
    frameworks=("torch",),
    facts=BaseFacts(
        os="ubuntu",
        os_version="22.04",
        glibc="2.35",
        has_apt=True,
        python="/opt/conda/envs/py_3.10/bin/python",
        python_version="3.10.16",
        pip_version="25.0",
        distributions=(
            Installed(name="torch", version="2.6.0+gitdfbc4bb", requires=("pytorch-triton-rocm==3.2.0",)),
            Installed(name="torchvision", version="0.21.0+7af6987", requires=("torch",)),
            Installed(name="pytorch-triton-rocm", version="3.2.0+rocm6.4.0.git6da9e660"),
        ),
        env={"PATH": f"/opt/conda/envs/py_3.10/bin:/opt/conda/condabin:{DEBIAN_PATH}", "ROCM_PATH": "/opt/rocm"},
        cmd=("/bin/bash",),
        workdir="/var/lib/jenkins",
    ),
    packages=(wheel("accelerate", "1.12.0"), wheel("transformers", "4.57.3")),
)

HABANA_PYTORCH = Want(
    framework=release("pytorch", "2.9.0"),
    stack=release("gaudi", "1.23.0"),
    python="3.10",
    reference="vault.habana.ai/gaudi-docker/1.23.0/ubuntu22.04/habanalabs/pytorch-installer-2.9.0:latest",
    frameworks=("torch", "habana-torch-plugin"),
    facts=BaseFacts(
        os="ubuntu",
        os_version="22.04",
        glibc="2.35",
        has_apt=True,
        python="/usr/bin/python3.10",
        python_version="3.10.12",
        pip_version="24.3.1",
        distributions=(
            Installed(name="torch", version="2.9.0+hpu.1.23.0.695"),
            Installed(name="habana-torch-plugin", version="1.23.0.695"),
            Installed(name="habana-torch-dataloader", version="1.23.0.695"),
        ),
        env={"PATH": DEBIAN_PATH, "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "PIP_NO_CACHE_DIR": "on"},
    ),
    packages=(wheel("optimum-habana", "1.20.0"), wheel("transformers", "4.55.4")),
)

INTEL_PYTORCH = Want(
    framework=release("pytorch", "2.8.0"),
    stack=release("oneapi", "2025.1.3"),
    python="3.10",
    reference="intel/intel-extension-for-pytorch:2.8.10-xpu",
    frameworks=("torch", "intel-extension-for-pytorch"),
    facts=BaseFacts(
        os="ubuntu",
        os_version="22.04",
        glibc="2.35",
        has_apt=True,
        python="/opt/python-3.10/bin/python3.10",
        python_version="3.10.18",
        pip_version="25.1.1",
        distributions=(
            Installed(name="torch", version="2.8.0+xpu", requires=("pytorch-triton-xpu==3.4.0",)),
            Installed(name="intel-extension-for-pytorch", version="2.8.10+xpu", requires=("torch==2.8.0+xpu",)),
            Installed(name="pytorch-triton-xpu", version="3.4.0"),
        ),
        env={"PATH": f"/opt/python-3.10/bin:{DEBIAN_PATH}", "LD_LIBRARY_PATH": "/opt/intel/oneapi/lib"},
        user="ubuntu",
    ),
    packages=(wheel("transformers", "4.57.3"),),
)

NEURON_PYTORCH = Want(
    framework=release("pytorch", "2.9.0"),
    stack=release("neuron", "2.31.1"),
    reference="public.ecr.aws/neuron/pytorch-inference-neuronx:2.9.0-neuronx-py312-sdk2.31.1-ubuntu24.04",
    frameworks=("torch", "torch-neuronx"),
    facts=BaseFacts(
        os="ubuntu",
        os_version="24.04",
        glibc="2.39",
        has_apt=True,
        python="/opt/venv/bin/python",
        python_version="3.12.11",
        pip_version="25.3",
        distributions=(
            Installed(name="torch", version="2.9.0"),
            Installed(name="torch-neuronx", version="2.9.0.2.13.24727+8e870898"),
            Installed(name="neuronx-cc", version="2.23.6484.0+3b612583"),
            Installed(name="libneuronxla", version="2.2.15515.0+50c26cbd"),
        ),
        env={"PATH": f"/opt/venv/bin:/opt/aws/neuron/bin:{DEBIAN_PATH}", "LD_LIBRARY_PATH": "/opt/aws/neuron/lib"},
        entrypoint=("python", "/usr/local/bin/dockerd_entrypoint.py"),
    ),
    packages=(wheel("optimum-neuron", "0.4.4"),),
)

CUDA_STACK = Want(
    framework=release("pytorch", "2.9.1"),
    stack=release("cuda", "13.0.2"),
    kind=BaseKind.STACK,
    reference="nvidia/cuda:13.0.2-runtime-ubuntu24.04",
    facts=BaseFacts(
        os="ubuntu",
        os_version="24.04",
        glibc="2.39",
        has_apt=True,
        python=None,
        python_version=None,
        env={
            "PATH": f"/usr/local/nvidia/bin:/usr/local/cuda/bin:{DEBIAN_PATH}",
            "LD_LIBRARY_PATH": "/usr/local/cuda/lib64",
            "CUDA_VERSION": "13.0.2",
            "NVIDIA_REQUIRE_CUDA": "cuda>=13.0 brand=tesla,driver>=535,driver<536",
            "NVIDIA_VISIBLE_DEVICES": "all",
            "NVIDIA_DRIVER_CAPABILITIES": "compute,utility",
        },
        entrypoint=("/opt/nvidia/nvidia_entrypoint.sh",),
    ),
    packages=(
        wheel("torch", "2.9.1+cu130", CP312),
        wheel("triton", "3.5.1", CP312),
        wheel("numpy", "2.3.5", CP312),
        wheel("nvidia-cublas", "13.0.0.19", "py3-none-manylinux_2_27_x86_64"),
    ),
    debs=(
        deb("python3.12", "3.12.3-1ubuntu0.9"),
        deb("python3.12-venv", "3.12.3-1ubuntu0.9"),
        deb("python3-venv", "3.12.3-0ubuntu2.1"),
    ),
)

VLLM = Want(
    framework=release("vllm", "0.31.0"),
    stack=release("cuda", "13.0.2"),
    reference="vllm/vllm-openai:v0.31.0",
    frameworks=("vllm", "torch"),
    facts=BaseFacts(
        os="ubuntu",
        os_version="22.04",
        glibc="2.35",
        has_apt=True,
        python="/usr/bin/python3.12",
        python_version="3.12.12",
        pip_version="25.3",
        distributions=(
            Installed(name="vllm", version="0.31.0", requires=("torch==2.14.0", "xgrammar==0.1.33", "numpy")),
            Installed(name="torch", version="2.14.0+cu130", requires=("triton==3.8.0; platform_system == 'Linux'",)),
            Installed(name="triton", version="3.8.0"),
            Installed(name="xgrammar", version="0.1.33"),
            Installed(name="numpy", version="2.3.5"),
        ),
        env={
            "PATH": f"/usr/local/nvidia/bin:/usr/local/cuda/bin:{DEBIAN_PATH}",
            "LD_LIBRARY_PATH": "/usr/local/cuda/lib64",
            "CUDA_VERSION": "13.0.2",
            "NVIDIA_REQUIRE_CUDA": "cuda>=13.0 brand=tesla,driver>=535,driver<536",
        },
        entrypoint=("vllm", "serve"),
        workdir="/vllm-workspace",
    ),
    env={"VLLM_NO_USAGE_STATS": "1"},
)

TRITON_SERVER = Want(
    framework=release("triton-server", "2.62.0"),
    stack=release("cuda", "13.0.2"),
    reference="nvcr.io/nvidia/tritonserver:25.10-py3",
    frameworks=("tritonserver", "tritonfrontend"),
    facts=BaseFacts(
        os="ubuntu",
        os_version="24.04",
        glibc="2.39",
        has_apt=True,
        python="/usr/bin/python3.12",
        python_version="3.12.3",
        pip_version=None,
        externally_managed=True,
        env={
            "PATH": f"/opt/tritonserver/bin:{DEBIAN_PATH}",
            "LD_LIBRARY_PATH": "/usr/local/cuda/compat/lib:/usr/local/nvidia/lib:/usr/local/nvidia/lib64",
            "CUDA_VERSION": "13.0.2.006",
            "NVIDIA_REQUIRE_CUDA": "cuda>=9.0",
        },
        entrypoint=("/opt/nvidia/nvidia_entrypoint.sh",),
        workdir="/opt/tritonserver",
    ),
    packages=(wheel("pip", "25.3"), wheel("tokenizers", "0.22.1", "cp39-abi3-manylinux_2_17_x86_64")),
    user="triton-server",
    entrypoint=("/opt/nvidia/nvidia_entrypoint.sh", "tritonserver", "--model-repository=/models"),
)

DEBIAN_REGISTRY = Want(
    framework=release("onnxruntime", "1.23.2"),
    stack=release("cuda", "12.9"),
    python="3.11",
    kind=BaseKind.DISTRIBUTION,
    reference="debian:12-slim",
    distribution=DEBIAN_12,
    facts=BaseFacts(
        os="debian", os_version="12", glibc="2.36", has_apt=True, python=None, python_version=None, env={"PATH": DEBIAN_PATH}
    ),
    packages=(
        wheel("onnxruntime-gpu", "1.23.2", CP311),
        wheel("numpy", "2.3.5", CP311),
        wheel("nvidia-cublas-cu12", "12.9.1.4", "py3-none-manylinux_2_27_x86_64"),
        wheel("nvidia-cuda-runtime-cu12", "12.9.79", "py3-none-manylinux2014_x86_64"),
        wheel("nvidia-cudnn-cu12", "9.10.2.21", "py3-none-manylinux_2_27_x86_64"),
        wheel("nvidia-cufft-cu12", "11.4.1.4", "py3-none-manylinux2014_x86_64"),
    ),
    debs=(
        deb("python3", "3.11.2-1+b1"),
        deb("python3-venv", "3.11.2-1+b1"),
        deb("python3.11", "3.11.2-6+deb12u6"),
        deb("python3.11-venv", "3.11.2-6+deb12u6"),
    ),
    user="1000:1000",
)

ASSEMBLED_FACTS = BaseFacts(
    os="debian",
    os_version="12",
    glibc="2.36",
    has_apt=False,
    python="/usr/bin/python3.11",
    python_version="3.11.2",
    externally_managed=True,
    env={},
    unconfigured=("ca-certificates",),
    has_ld_cache=False,
)

DEBIAN_ASSEMBLED = Want(
    framework=release("openvino", "2026.4.1"),
    stack=release("cpu"),
    python="3.11",
    kind=BaseKind.DISTRIBUTION,
    reference="debian:12-slim",
    distribution=DEBIAN_12,
    facts=ASSEMBLED_FACTS,
    root=(
        deb("base-files", "12.4+deb12u12"),
        deb("ca-certificates", "20230311+deb12u1", "all"),
        deb("python3-venv", "3.11.2-1+b1"),
    ),
    packages=(wheel("openvino", "2026.4.1", "cp311-cp311-manylinux2014_x86_64"), wheel("numpy", "2.3.5", CP311)),
    apt=("ca-certificates",),
)

DEBIAN_ARM64 = Want(
    framework=release("jax", "0.8.1"),
    stack=release("cpu"),
    python="3.11",
    kind=BaseKind.DISTRIBUTION,
    reference="debian:12-slim",
    distribution=DEBIAN_12,
    platform=LINUX_ARM64,
    facts=ASSEMBLED_FACTS,
    root=(deb("base-files", "12.4+deb12u12", "arm64"), deb("python3-venv", "3.11.2-1+b1", "arm64")),
    packages=(
        wheel("jax", "0.8.1"),
        wheel("jaxlib", "0.8.1", "cp311-cp311-manylinux_2_27_aarch64"),
        wheel("numpy", "2.3.5", "cp311-cp311-manylinux_2_17_aarch64"),
    ),
    env={"JAX_PLATFORMS": "cpu"},
)

CASES: dict[str, Case] = {
    name: case(want)
    for name, want in {
        "ngc-pytorch": NGC_PYTORCH,
        "rocm-pytorch": ROCM_PYTORCH,
        "habana-pytorch": HABANA_PYTORCH,
        "intel-xpu-pytorch": INTEL_PYTORCH,
        "neuron-pytorch": NEURON_PYTORCH,
        "cuda-stack-pytorch": CUDA_STACK,
        "vllm-openai": VLLM,
        "triton-server": TRITON_SERVER,
        "debian-registry-onnxruntime": DEBIAN_REGISTRY,
        "debian-assembled-openvino": DEBIAN_ASSEMBLED,
        "debian-arm64-jax": DEBIAN_ARM64,
    }.items()
}
