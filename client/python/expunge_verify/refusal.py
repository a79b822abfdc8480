"""How a claim fails: one exception with a reason code, for every check of this package."""


class Refused(Exception):
    """A file is not what it claims to be. `reason` is a code of docs/formats/certificate.md or of this package's README.

    The message names places and numbers, never the content of names, ids or vectors.
    """

    def __init__(self, reason, message):
        super().__init__(message)
        self.reason = reason
        self.message = message

    def __str__(self):
        return f"{self.reason}: {self.message}"


def require(condition, reason, message):
    if not condition:
        raise Refused(reason, message)
