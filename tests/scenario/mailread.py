"""Read mail as a receiver would: headers, parts, and the signature, by means of our own."""

import base64
import email
import email.policy
import re
import subprocess

from harness import Failure

URL = re.compile(r"""href="([^"]*)\"""")


def parse(raw):
    return email.message_from_bytes(raw, policy=email.policy.default)


def check_wire(raw):
    """Line ends and lengths that every server takes (RFC 5322 section 2.1.1)."""
    if not raw.endswith(b"\r\n") or b"\n" in raw.replace(b"\r\n", b"") or \
            b"\r" in raw.replace(b"\r\n", b""):
        raise Failure("a line does not end with CR LF")
    longest = max(len(line) for line in raw.split(b"\r\n"))
    if longest > 998:
        raise Failure(f"a line of {longest} octets")


def html_of(raw):
    return parse(raw).get_body(("html",)).get_content()


def text_of(raw):
    return parse(raw).get_body(("plain",)).get_content()


def hrefs(raw):
    """Targets of links in the HTML, entities decoded, in their order."""
    return [target.replace("&amp;", "&") for target in URL.findall(html_of(raw))]


def one_click_url(raw):
    """The address that a mail program POSTs to (RFC 8058 section 3.1)."""
    found = parse(raw).get_all("List-Unsubscribe") or []
    if len(found) != 1 or not re.fullmatch(r"<https?://[^<>, ]+>", found[0].strip()):
        raise Failure(f"List-Unsubscribe: {found}")
    return found[0].strip()[1:-1]


# ---- DKIM (RFC 6376), with openssl for the arithmetic ---------------------------------------------


def make_key(folder):
    """A new RSA key: (PEM of the private one, file of the public one)."""
    private, public = folder / "dkim.pem", folder / "dkim.pub"
    subprocess.run(["openssl", "genrsa", "-out", private, "2048"], check=True, capture_output=True)
    subprocess.run(["openssl", "pkey", "-in", private, "-pubout", "-out", public], check=True,
                   capture_output=True)
    return private.read_text(), public


def check_dkim(raw, public):
    """Verify the one signature of a mail; returns the names of the headers under it."""
    head, body = raw.split(b"\r\n\r\n", 1)
    fields = re.split(rb"\r\n(?![ \t])", head)
    signed = [field for field in fields if field.lower().startswith(b"dkim-signature:")]
    if len(signed) != 1:
        raise Failure(f"{len(signed)} signatures")
    tags = dict(tag.strip().split("=", 1) for tag in
                re.sub(r"\r\n\s+", " ", signed[0].decode().split(":", 1)[1]).split(";") if tag.strip())
    if tags["a"] != "rsa-sha256" or tags["c"] != "relaxed/relaxed" or "l" in tags:
        raise Failure(f"signature with {tags}")
    if _digest(_relaxed_body(body)) != base64.b64decode(_solid(tags["bh"])):
        raise Failure("the body is not the one that was signed")
    names = [name.strip().lower() for name in tags["h"].split(":")]
    used, lines = set(), []
    for name in names:  # of several headers of a name, from the last one upwards
        for i in reversed(range(len(fields))):
            if i not in used and fields[i].split(b":", 1)[0].strip().lower().decode() == name:
                used.add(i)
                lines.append(_relaxed_header(fields[i]) + b"\r\n")
                break
    own = re.sub(rb"(;\s*b=)[^;]*", rb"\1", signed[0])
    _verify(b"".join(lines) + _relaxed_header(own), base64.b64decode(_solid(tags["b"])), public)
    return names


def _solid(text):
    return re.sub(r"\s", "", text)


def _digest(data):
    return subprocess.run(["openssl", "dgst", "-sha256", "-binary"], input=data, check=True,
                          capture_output=True).stdout


def _relaxed_header(field):
    name, value = field.split(b":", 1)
    value = re.sub(rb"[ \t]+", b" ", value.replace(b"\r\n", b"")).strip(b" \t")
    return name.strip().lower() + b":" + value


def _relaxed_body(body):
    lines = [re.sub(rb"[ \t]+", b" ", line).rstrip(b" ") for line in body.split(b"\r\n")]
    while lines and not lines[-1]:
        lines.pop()
    return b"".join(line + b"\r\n" for line in lines)


def _verify(data, signature, public):
    at = public.with_suffix(".sig")
    at.write_bytes(signature)
    done = subprocess.run(["openssl", "dgst", "-sha256", "-verify", public, "-signature", at],
                          input=data, capture_output=True, check=False)
    if done.returncode != 0:
        raise Failure(f"the signature does not verify: {done.stdout} {done.stderr}")
