"""Verdicts: for each file and claim OK, FAILED with a reason, or NOT_CHECKED with why; and how they are shown."""

import json
from dataclasses import dataclass, field

from .refusal import Refused

OK, FAILED, NOT_CHECKED = "OK", "FAILED", "NOT_CHECKED"


@dataclass(frozen=True)
class Verdict:
    verdict: str
    reason: str = ""  # of FAILED: a code
    text: str = ""  # for people
    asked: bool = True  # whether NOT_CHECKED leaves a question open that was asked

    @property
    def good(self):
        return self.verdict == OK or (self.verdict == NOT_CHECKED and not self.asked)


def ok(text):
    return Verdict(OK, text=text)


def not_checked(why, asked=False):
    return Verdict(NOT_CHECKED, text=why, asked=asked)


def judge(check, *arguments):
    """The Verdict of a check that returns what it found in words, or one of its own; or raises Refused."""
    try:
        found = check(*arguments)
    except Refused as refused:
        return Verdict(FAILED, refused.reason, refused.message)
    return found if isinstance(found, Verdict) else ok(found)


@dataclass
class FileReport:
    file: str
    claims: dict = field(default_factory=dict)  # claim -> Verdict, in the order in which they were looked at
    facts: dict = field(default_factory=dict)


@dataclass
class Report:
    files: list = field(default_factory=list)

    def add(self, file):
        self.files.append(FileReport(file))
        return self.files[-1]

    @property
    def verified(self):
        return bool(self.files) and all(verdict.good for file in self.files for verdict in file.claims.values())

    def as_json(self):
        def shown(verdict):
            result = {"verdict": verdict.verdict, "text": verdict.text}
            if verdict.reason:
                result["reason"] = verdict.reason
            return result

        return json.dumps(
            {
                "verified": self.verified,
                "files": [
                    {
                        "file": file.file,
                        "claims": {claim: shown(verdict) for claim, verdict in file.claims.items()},
                        **file.facts,
                    }
                    for file in self.files
                ],
            }
        )

    def as_text(self):
        lines = []
        for file in self.files:
            for claim, verdict in file.claims.items():
                word = f"{verdict.verdict} {verdict.reason}".rstrip()
                lines.append(f"{printable(file.file)}: {claim}: {word}: {verdict.text}")
        lines.append("VERIFIED" if self.verified else "NOT VERIFIED")
        return "\n".join(lines)


def printable(name):
    """A file's name on one line: whatever is not printable ASCII becomes \\xNN, so that a name cannot look like a verdict."""
    return "".join(
        chr(byte) if 0x20 <= byte <= 0x7E else f"\\x{byte:02x}" for byte in name.encode("utf-8", "surrogateescape")
    )
