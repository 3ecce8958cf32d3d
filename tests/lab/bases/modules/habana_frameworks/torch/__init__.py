"""A stand-in for Intel Gaudi's bridge: there is no device and no driver."""

__simulated__ = "imgbuild lab stand-in"


class hpu:
    @staticmethod
    def is_available():
        return False

    @staticmethod
    def device_count():
        return 0
