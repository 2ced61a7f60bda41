#!/usr/bin/env python3
"""image.py ROOT.tar NAME:TAG IMAGE.tar: a container image of one layer. The archive is both an OCI image layout (index.json) and
what `docker load` has always read (manifest.json)."""
import datetime
import gzip
import hashlib
import io
import json
import os
import pathlib
import sys
import tarfile

LAYER, CONFIG, MANIFEST = (f"application/vnd.oci.image.{kind}" for kind in
                           ("layer.v1.tar+gzip", "config.v1+json", "manifest.v1+json"))


def compressed(path):
    """The layer, and the digest of what is in it: the same bytes for the same root."""
    digest, out = hashlib.sha256(), io.BytesIO()
    with path.open("rb") as root, gzip.GzipFile(fileobj=out, mode="wb", mtime=0) as layer:
        while block := root.read(1 << 20):
            digest.update(block)
            layer.write(block)
    return out.getvalue(), "sha256:" + digest.hexdigest()


def main():
    root, name, image = sys.argv[1:]
    epoch = int(os.environ["SOURCE_DATE_EPOCH"])
    layer, content = compressed(pathlib.Path(root))
    created = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).isoformat()
    with tarfile.open(image, "w") as archive:
        def add(path, data):
            entry = tarfile.TarInfo(path)
            entry.size, entry.mtime = len(data), epoch
            archive.addfile(entry, io.BytesIO(data))

        def blob(kind, data):
            digest = hashlib.sha256(data).hexdigest()
            add(f"blobs/sha256/{digest}", data)
            return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(data)}

        def document(value):
            return json.dumps(value, sort_keys=True).encode()

        add("oci-layout", document({"imageLayoutVersion": "1.0.0"}))
        layers = [blob(LAYER, layer)]
        config = blob(CONFIG, document({
            "architecture": "amd64", "os": "linux", "created": created,
            "config": {"Cmd": ["/bin/bash"], "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]},
            "rootfs": {"type": "layers", "diff_ids": [content]},
            "history": [{"created": created, "created_by": "mmdebstrap"}]}))
        manifest = blob(MANIFEST, document({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers}))
        tag = name.rsplit(":", 1)[1]
        manifest["annotations"] = {"io.containerd.image.name": f"docker.io/library/{name}", "org.opencontainers.image.ref.name": tag}
        add("index.json", document({"schemaVersion": 2, "manifests": [manifest]}))

        def path_of(descriptor):
            return "blobs/" + descriptor["digest"].replace(":", "/")
        add("manifest.json", document([{"Config": path_of(config), "RepoTags": [name], "Layers": list(map(path_of, layers))}]))


if __name__ == "__main__":
    main()
