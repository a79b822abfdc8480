"""The forms of single values: base64, hexadecimal, counts, hex-floats, times, and JSON with one spelling.

Each `parse_*` function accepts exactly one text for each value, and raises ValueError for every other.
"""

import base64
import binascii
import calendar
import json
import math
import re
import time

MAX_TEXT_BYTES = 4096
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")
_HEX = re.compile(r"(?:[0-9a-f]{2})*\Z")
_COUNT = re.compile(r"(?:0|[1-9][0-9]{0,19})\Z")
_HEX_DOUBLE = re.compile(r"(-?)0x([01])(?:\.([0-9a-f]{1,13}))?p([+-](?:0|[1-9][0-9]{0,3}))\Z")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z\Z")


def parse_base64(text):
    """Standard base64 with padding (RFC 4648, section 4): the one encoding of some bytes."""
    try:
        decoded = base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError) as error:
        raise ValueError("not base64") from error
    # The decoder ignores stray bits at the end and, in some versions, what follows the padding.
    if base64.b64encode(decoded).decode("ascii") != text:
        raise ValueError("not the one base64 of its bytes")
    return decoded


def parse_hex(text):
    if not isinstance(text, str) or not _HEX.match(text):
        raise ValueError("not lower-case hexadecimal")
    return bytes.fromhex(text)


def is_digest(value):
    return isinstance(value, str) and _DIGEST.match(value) is not None


def parse_count(text):
    """An unsigned 64-bit integer in decimal, without leading zeros."""
    if not isinstance(text, str) or not _COUNT.match(text) or int(text) >= 1 << 64:
        raise ValueError("not a count")
    return int(text)


def hex_double(value):
    """What printf("%a") prints in the C locale: the shortest digits, subnormals with a leading 0."""
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if math.isnan(value):
        return "nan"
    text = value.hex()  # Python writes all 13 digits: "0x1.8000000000000p-3"
    digits, exponent = text.split("p")
    if "." in digits:
        digits = digits.rstrip("0").rstrip(".")
    return f"{digits}p{exponent}"


def parse_hex_double(text):
    """The double whose hex_double is `text`; never a NaN."""
    if text in ("inf", "-inf"):
        return float(text)
    if not isinstance(text, str) or not _HEX_DOUBLE.match(text):
        raise ValueError("not a hex-float")
    try:
        value = float.fromhex(text)
    except OverflowError as error:
        raise ValueError("beyond a double") from error
    if hex_double(value) != text:
        raise ValueError("not the one hex-float of its value")
    return value


def is_text_or_empty(value):
    return isinstance(value, str) and len(value) <= MAX_TEXT_BYTES and all(" " <= c <= "~" for c in value)


def is_text(value):
    return is_text_or_empty(value) and value != ""


def parse_time(text):
    """RFC 3339 in UTC with whole seconds, as seconds since 1970."""
    if not isinstance(text, str) or not _TIME.match(text):
        raise ValueError("not a time")
    parsed = time.strptime(text, "%Y-%m-%dT%H:%M:%SZ")
    seconds = calendar.timegm(parsed)
    # strptime accepts second 60 and 61, which no clock here writes.
    if parsed.tm_sec > 59:
        raise ValueError("not a time")
    return seconds


def _no_duplicates(pairs):
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key twice")
    return result


def _no_number(_):
    raise ValueError("a number")


def parse_json(content):
    """Bytes of JSON without numbers and without a key twice. ValueError for anything else."""
    text = content.decode("utf-8")
    try:
        return json.loads(
            text,
            object_pairs_hook=_no_duplicates,
            parse_int=_no_number,
            parse_float=_no_number,
            parse_constant=_no_number,
        )
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def canonical_json(value):
    """The one form: ASCII, keys in the order of their bytes, no white space."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode("ascii")


def is_printable(content):
    """Printable ASCII alone."""
    return all(0x20 <= byte <= 0x7E for byte in content)
