"""What an index may say that is not so."""
import hashlib
import os

WRONG = hashlib.sha256(b"wrong").hexdigest()
CYRILLIC = "r\u0435quests"  # its second letter is not an e


def add(m, options):
    """All packages of this module."""
    m.expect("syn-badhash", "reject", "the index gives a wrong sha256")
    m.wheel("syn-badhash", ix={"sha256": WRONG})
    m.expect("syn-nohash", "policy", "the index gives no hash")
    m.wheel("syn-nohash", ix={"sha256": ""})
    m.expect("syn-badsize", "reject", "the index gives a wrong size")
    m.wheel("syn-badsize", ix={"size": 12345})

    why = "the .metadata file (with a right hash) names other dependencies than the wheel"
    m.expect("syn-metalie", "reject", why)
    lie = b"Metadata-Version: 2.1\nName: syn-metalie\nVersion: 1.0\n\n"
    m.wheel("syn-metalie", requires=["syn-color"], ix={"metadata_bytes": lie})
    m.expect("syn-metabad", "reject", "the .metadata file does not match its hash in the index")
    m.wheel("syn-metabad", ix={"metadata": WRONG})

    m.expect("syn-gone", "reject", "listed, but the file is 404")
    m.wheel("syn-gone")
    m.expect("syn-offhost", "policy", "the link leads to another host (a closed loopback port)")
    m.wheel("syn-offhost", ix={"url": "http://127.0.0.1:9/syn_offhost-1.0-py3-none-any.whl"})
    m.expect("syn-fileurl", "reject", "the file link is a file: URL")
    m.wheel("syn-fileurl", ix={"url": "file:///etc/hostname"})
    m.expect("syn-htmlname", "reject", "file name with markup and a path in it")
    m.expect(CYRILLIC, "reject", "a project name with a Cyrillic letter: not a valid name")
    if m.making:
        records_without_files(m)


def records_without_files(m):
    """Entries of the index that stand for nothing, or for a file of another project."""
    for record in m.index.find("syn-gone"):
        os.unlink(os.path.join(m.index.packages, "syn-gone", record["filename"]))
    (color,) = m.index.find("syn-color")
    color = {**color, "url": "../../packages/syn-color/" + color["filename"]}
    markup = "../../<script>alert(1)</script>-1.0-py3-none-any.whl"
    cyrillic = CYRILLIC + "-1.0-py3-none-any.whl"
    m.index.files.append({**color, "project": "syn-htmlname", "filename": markup})
    m.index.files.append({**color, "project": CYRILLIC, "filename": cyrillic})
