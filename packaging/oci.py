"""An OCI image layout (https://github.com/opencontainers/image-spec, 1.1) in one tar file, built and read without a daemon.

    oci.py build IMAGE FOLDER...   an image with a layer for each folder, in this order
    oci.py unpack IMAGE ROOT       checks every digest and length, and unpacks the layers into ROOT
"""

import gzip
import hashlib
import io
import json
import os
import sys
import tarfile

EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
TYPE = "application/vnd.oci.image."
# Nothing outside of the root; Python 3.11.2 (Debian 12) does not know the filter.
SAFELY = {"filter": "tar"} if hasattr(tarfile, "tar_filter") else {}
RUN = {"Entrypoint": ["/usr/bin/wirelap"], "WorkingDir": "/runs", "Env": ["PATH=/usr/sbin:/usr/bin", "HOME=/root"]}


def digest(content):
    return "sha256:" + hashlib.sha256(content).hexdigest()


def entry(info):
    """The same folder gives the same layer, whoever owns it and whenever it was made."""
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    info.mtime = EPOCH
    return info


def tarred(folder):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in sorted(os.listdir(folder)):
            tar.add(os.path.join(folder, name), arcname=name, filter=entry)
    return out.getvalue()


class Blobs:
    """The content of an image by its digest."""

    def __init__(self):
        self.content = {}

    def add(self, kind, content):
        self.content[digest(content)] = content
        return {"mediaType": kind, "digest": digest(content), "size": len(content)}

    def add_json(self, kind, value):
        return self.add(kind, json.dumps(value, sort_keys=True).encode())


def build(image, folders):
    blobs, layers, plain = Blobs(), [], []
    for folder in folders:
        tar = tarred(folder)
        plain.append(digest(tar))
        layers.append(blobs.add(TYPE + "layer.v1.tar+gzip", gzip.compress(tar, 6, mtime=0)))
    config = blobs.add_json(TYPE + "config.v1+json", {
        "architecture": "amd64", "os": "linux", "config": RUN, "rootfs": {"type": "layers", "diff_ids": plain}})
    manifest = blobs.add_json(TYPE + "manifest.v1+json", {
        "schemaVersion": 2, "mediaType": TYPE + "manifest.v1+json", "config": config, "layers": layers})
    manifest["platform"] = {"architecture": "amd64", "os": "linux"}
    manifest["annotations"] = {"org.opencontainers.image.ref.name": "wirelap"}
    files = {"blobs/" + name.replace(":", "/"): content for name, content in blobs.content.items()}
    files["oci-layout"] = b'{"imageLayoutVersion":"1.0.0"}'
    files["index.json"] = json.dumps({
        "schemaVersion": 2, "mediaType": TYPE + "index.v1+json", "manifests": [manifest]}).encode()
    with tarfile.open(image, "w", format=tarfile.PAX_FORMAT) as tar:
        for name in sorted(files):
            info = entry(tarfile.TarInfo(name))
            info.size = len(files[name])
            tar.addfile(info, io.BytesIO(files[name]))


def unpack(image, root):
    with tarfile.open(image) as tar:
        files = {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}

    def blob(descriptor):
        content = files["blobs/" + descriptor["digest"].replace(":", "/")]
        if digest(content) != descriptor["digest"] or len(content) != descriptor["size"]:
            sys.exit(f"oci: {descriptor['digest']} has another content")
        return content

    if json.loads(files["oci-layout"]) != {"imageLayoutVersion": "1.0.0"}:
        sys.exit("oci: no image layout")
    manifest = json.loads(blob(json.loads(files["index.json"])["manifests"][0]))
    plain = json.loads(blob(manifest["config"]))["rootfs"]["diff_ids"]
    if len(plain) != len(manifest["layers"]):
        sys.exit("oci: not as many layers as the configuration names")
    for descriptor, expected in zip(manifest["layers"], plain):
        layer = gzip.decompress(blob(descriptor))
        if digest(layer) != expected:
            sys.exit(f"oci: the layer {expected} has another content")
        with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
            tar.extractall(root, **SAFELY)
    print(f"oci: {len(plain)} layers, {len(files) - 2} digests are right")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["build", image, *folders] if folders:
            build(image, folders)
        case ["unpack", image, root]:
            unpack(image, root)
        case _:
            sys.exit(__doc__)
