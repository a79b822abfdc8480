"""The log: proofs for all pairs of sizes, checkpoints, proof files and tiles, true and false."""

import os
import shutil
import tempfile

import maker
from support import VerifyTest, main

from expunge_verify import merkle
from expunge_verify.log_proof import verify_log_proof
from expunge_verify.note import NoteKey, read_checkpoint
from expunge_verify.tiles import Log, tile_name

LOG_KEY = maker.Key(7)
MOST = 130


def entries(count):
    return [b"%064d" % i * 2 for i in range(count)]


def write_tiles(directory, items, key=LOG_KEY):
    """A log in tlog-tiles layout, written from its definition."""

    def put(name, content):
        path = os.path.join(directory, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)

    level = 0
    while len(items) >= 256**level:
        count = len(items) // 256**level
        span = 256**level
        hashes = [maker.mth(items[i * span : (i + 1) * span]) for i in range(count)]
        for first in range(0, count, 256):
            part = hashes[first : first + 256]
            name = tile_name(first // 256) + ("" if len(part) == 256 else f".p/{len(part)}")
            put(os.path.join("tile", str(level), name), b"".join(part))
            if level == 0:
                put(
                    os.path.join("tile", "entries", name),
                    b"".join(len(e).to_bytes(2, "big") + e for e in items[first : first + 256]),
                )
        level += 1
    put("checkpoint", maker.checkpoint(items, key))


class MerkleTest(VerifyTest):
    def test_inclusion_for_every_index_and_size(self):
        for size in range(1, MOST + 1):
            items = entries(size)
            hashes = [merkle.leaf_hash(item) for item in items]
            root = maker.mth(items)
            self.assertEqual(merkle.root_of(hashes), root)
            for index in range(size):
                path = merkle.inclusion_path(index, hashes)
                self.assertEqual(merkle.root_from_inclusion(index, size, hashes[index], path), root)
                if size <= 20:
                    self.assertEqual(path, maker.path(index, items))
                    self.refuse_other_paths(index, size, hashes[index], path, root)

    def refuse_other_paths(self, index, size, leaf, path, root):
        self.assertRefused("WRONG_PROOF_LENGTH", merkle.root_from_inclusion, index, size, leaf, path + [root])
        if path:
            self.assertRefused("WRONG_PROOF_LENGTH", merkle.root_from_inclusion, index, size, leaf, path[:-1])
            self.assertNotEqual(merkle.root_from_inclusion(index, size, leaf, [root] + path[1:]), root)
        self.assertRefused("INDEX_BEYOND_TREE", merkle.root_from_inclusion, size, size, leaf, path)
        self.assertRefused("INDEX_BEYOND_TREE", merkle.root_from_inclusion, -1, size, leaf, path)

    def test_consistency_for_every_pair_of_sizes(self):
        items = entries(MOST)
        hashes = [merkle.leaf_hash(item) for item in items]
        roots = [merkle.root_of(hashes[:size]) for size in range(MOST + 1)]
        for new in range(1, MOST + 1):
            for old in range(1, new + 1):
                proof = merkle.consistency_proof(old, hashes[:new])
                merkle.check_consistency(old, roots[old], new, roots[new], proof)
                if new <= 16:
                    self.assertEqual(proof, maker.consistency(old, items[:new]))
                    self.refuse_others(old, new, roots, proof)

    def refuse_others(self, old, new, roots, proof):
        refuse = lambda *arguments: self.assertRefused("LOG_INCONSISTENT", merkle.check_consistency, *arguments)
        refuse(old, roots[old - 1], new, roots[new], proof)
        refuse(old, roots[old], new, roots[new - 1], proof)
        refuse(old, roots[old], new, roots[new], proof + [roots[1]])
        refuse(new + 1, roots[old], new, roots[new], proof)
        if proof:
            refuse(old, roots[old], new, roots[new], proof[:-1])
            refuse(old, roots[old], new, roots[new], [bytes(32)] + proof[1:])

    def test_every_log_begins_with_the_empty_one(self):
        merkle.check_consistency(0, merkle.root_of([]), 5, bytes(32), [])
        self.assertRefused("LOG_INCONSISTENT", merkle.check_consistency, 0, b"", 5, bytes(32), [bytes(32)])


class ProofFileTest(VerifyTest):
    def setUp(self):
        super().setUp()
        self.items = entries(11)
        self.keys = [NoteKey.parse(LOG_KEY.vkey(maker.ORIGIN))]
        self.proof = maker.log_proof(6, self.items, LOG_KEY)

    def verify(self, content, leaf=None):
        return verify_log_proof(content, self.items[6] if leaf is None else leaf, self.keys)

    def test_a_true_proof_passes(self):
        proof, checkpoint = self.verify(self.proof)
        self.assertEqual((proof.index, checkpoint.size, checkpoint.origin), (6, 11, maker.ORIGIN))
        for index in range(11):
            self.verify(maker.log_proof(index, self.items, LOG_KEY), self.items[index])
        self.verify(self.proof.replace(b"index", b"extra YWJj\nindex"))

    def test_every_bit_matters(self):
        for position in range(8 * len(self.proof)):
            altered = bytearray(self.proof)
            altered[position // 8] ^= 1 << position % 8
            self.assertRefused(None, self.verify, bytes(altered))

    def test_every_cut_is_refused(self):
        for length in range(len(self.proof)):
            self.assertRefused(None, self.verify, self.proof[:length])
        self.assertRefused(None, self.verify, self.proof + b"\n")

    def test_another_leaf_another_log_and_another_key_are_refused(self):
        self.assertRefused("NOT_IN_LOG", self.verify, self.proof, self.items[5])
        self.assertRefused(
            "UNKNOWN_CHECKPOINT_KEY", self.verify, maker.log_proof(6, self.items, LOG_KEY, "example.com/other")
        )
        self.assertRefused("UNKNOWN_CHECKPOINT_KEY", self.verify, maker.log_proof(6, self.items, maker.Key(8)))

    def test_checkpoints_of_other_forms_are_refused(self):
        root = maker.b64(maker.mth(self.items))
        good = f"{maker.ORIGIN}\n11\n{root}\n"
        read = lambda text: read_checkpoint(maker.note(text.encode(), LOG_KEY, maker.ORIGIN), self.keys)
        self.assertEqual(read(good).size, 11)
        self.assertEqual(read(good + "an extension\n").size, 11)
        for text in (
            good.replace("\n11", "\n011"),
            good.replace("\n11", "\n+11"),
            good.replace("\n11", "\n11.0"),
            good.replace("\n11\n", "\n"),
            good.replace(root, root[:-4]),
            good.replace(root, maker.b64(b"short")),
            "other" + good,
            f"{maker.ORIGIN}\n",
        ):
            with self.subTest(text=text):
                self.assertRefused(("NOT_A_CHECKPOINT", "WRONG_ORIGIN"), read, text)


class TilesTest(VerifyTest):
    def setUp(self):
        super().setUp()
        self.directory = tempfile.mkdtemp(prefix="expunge-test-")
        self.addCleanup(shutil.rmtree, self.directory)
        self.keys = [NoteKey.parse(LOG_KEY.vkey(maker.ORIGIN))]

    def test_names(self):
        self.assertEqual([tile_name(i) for i in (0, 999, 1000, 1234067)], ["000", "999", "x001/000", "x001/x234/067"])

    def test_logs_of_many_sizes(self):
        for size in (0, 1, 255, 256, 257, 600):
            directory = os.path.join(self.directory, str(size))
            write_tiles(directory, entries(size))
            log = Log(directory, self.keys)
            self.assertEqual(log.entries, entries(size))

    def test_damage_is_noticed(self):
        write_tiles(self.directory, entries(300))
        for folder, _, names in os.walk(self.directory):
            for name in names:
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    content = file.read()
                for position in {0, len(content) // 2, len(content) - 1}:
                    altered = bytearray(content)
                    altered[position] ^= 1
                    with open(path, "wb") as file:
                        file.write(altered)
                    self.assertRefused(None, Log, self.directory, self.keys)
                os.remove(path)
                self.assertRefused("LOG_INCOMPLETE", Log, self.directory, self.keys)
                with open(path, "wb") as file:
                    file.write(content)
        Log(self.directory, self.keys)

    def test_an_older_checkpoint_is_of_the_log_or_not(self):
        write_tiles(self.directory, entries(300))
        log = Log(self.directory, self.keys)
        old = read_checkpoint(maker.checkpoint(entries(100), LOG_KEY), self.keys)
        self.assertTrue(log.begins_with(old))
        for other in (entries(100)[1:] + [b"x" * 128], entries(301)):
            self.assertFalse(log.begins_with(read_checkpoint(maker.checkpoint(other, LOG_KEY), self.keys)))


if __name__ == "__main__":
    main()
