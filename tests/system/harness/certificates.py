"""Certificates of a test's own: made by openssl(1), good for a day."""
import subprocess


def make_certificate(folder, name, names=None):
    """Writes NAME.pem (certificate) and NAME.key; returns both paths."""
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    names = ",".join(f"{'IP' if n[0].isdigit() else 'DNS'}:{n}" for n in (names or [name]))
    fresh = folder / f"{name}.new"  # put into place at once, as careful people do
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
                    "-subj", f"/CN={name}", "-addext", f"subjectAltName={names}", "-keyout", key, "-out", fresh],
                   check=True, capture_output=True)
    fresh.rename(certificate)
    return certificate, key
