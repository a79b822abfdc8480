"""What an auditor might hold of two memories, in a directory: certificates, proofs, keys, a log, receipts and a bundle."""

import os

import maker
import memories
import test_log

KEY, OTHER, LOG_KEY = maker.Key(1), maker.Key(2), maker.Key(7)


class History:
    """Two memories, their certificates in one log, key sets and a bundle, in a directory."""

    def __init__(self, directory):
        self.directory = directory
        self.memory = memories.Memory()
        other = memories.Memory("tenants/t/memories/n")
        for i in range(5):
            self.memory.add(f"t{i}", [i * 0.75, (i * i % 5) * 0.5])
            other.add(f"t{i}", [i])
        self.receipts = [self.memory.receipt(f"t{i}", opened=i < 3) for i in range(5)]
        self.bundles = [self.memory.bundle()]
        deletion = self.memory.remove("t1")
        self.bundles.append(self.memory.bundle())
        payloads = {
            "m1": deletion,
            "n1": other.certify(),
            "m2": self.memory.purge_files(deletion),
            "m3": self.memory.certify(),
            "n2": other.remove("t0"),
        }
        self.certificates = {name: maker.envelope(payload, KEY) for name, payload in payloads.items()}
        set_payload = maker.key_set(
            1, b"", [maker.key_entry(KEY, "certificate"), maker.key_entry(LOG_KEY, "checkpoint")]
        )
        key_set = maker.envelope(set_payload, KEY)
        self.entries = [maker.leaf(key_set, KEY)] + [maker.leaf(content, KEY) for content in self.certificates.values()]
        self.put("keys.json", maker.keys_file([key_set]))
        self.put("key.pem", KEY.pem)
        self.put("other.pem", OTHER.pem)
        self.put("receipts.jsonl", b"".join(self.receipts))
        self.put("bundle.jsonl", self.bundles[1])
        self.put("old_checkpoint", maker.checkpoint(self.entries[:3], LOG_KEY))
        for index, (name, content) in enumerate(self.certificates.items(), 1):
            self.put(f"certificates/{name}.json", content)
            self.put(f"certificates/{name}.tlog-proof", maker.log_proof(index, self.entries[: index + 1], LOG_KEY))
        test_log.write_tiles(self.path("log"), self.entries, LOG_KEY)

    def path(self, name):
        return os.path.join(self.directory, name)

    def put(self, name, content):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as file:
            file.write(content)

    def one(self, name):
        return self.path(f"certificates/{name}.json")
