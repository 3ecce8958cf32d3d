"""imgbuild: one matrix in; validated, pinned accelerator images and an honest table out."""

__version__ = "0.1.0"
