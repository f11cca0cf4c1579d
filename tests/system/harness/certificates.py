"""Certificates of a test's own: made by openssl(1), good for a day unless said otherwise."""
import hashlib
import subprocess


def make_certificate(folder, name, names=None, issuer=None, days=1):
    """Writes NAME.pem (certificate, and its issuer's behind it) and NAME.key; returns both paths. `issuer`: what
    make_authority() returned; without one it is signed by itself. One that is good for weeks is not complained of."""
    names = ",".join(f"{'IP' if n[0].isdigit() else 'DNS'}:{n}" for n in (names or [name]))
    return _make(folder, name, ["-addext", f"subjectAltName={names}"], issuer, days)


def make_authority(folder, name):
    return _make(folder, name, ["-addext", "basicConstraints=critical,CA:TRUE"], None, 1)


def _make(folder, name, extensions, issuer, days):
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    fresh = folder / f"{name}.new"  # put into place at once, as careful people do
    by = ["-CA", issuer[0], "-CAkey", issuer[1]] if issuer else []
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", str(days),
                    "-subj", f"/CN={name}", *extensions, *by, "-keyout", key, "-out", fresh],
                   check=True, capture_output=True)
    if issuer:
        fresh.write_text(fresh.read_text() + issuer[0].read_text())
    fresh.rename(certificate)
    return certificate, key


def tlsa(certificate, usage, selector, matching):
    """The record's data for the first certificate of the file, as a zone has it: "3 1 1 8cb0fc6c…"."""
    command = ["openssl", "x509", "-in", certificate, "-outform", "DER"]
    if selector == 1:
        key = subprocess.run(["openssl", "x509", "-in", certificate, "-noout", "-pubkey"], check=True, capture_output=True).stdout
        whole = subprocess.run(["openssl", "pkey", "-pubin", "-outform", "DER"], input=key, check=True, capture_output=True).stdout
    else:
        whole = subprocess.run(command, check=True, capture_output=True).stdout
    data = {0: lambda b: b, 1: lambda b: hashlib.sha256(b).digest(), 2: lambda b: hashlib.sha512(b).digest()}[matching](whole)
    return f"{usage} {selector} {matching} {data.hex()}"
