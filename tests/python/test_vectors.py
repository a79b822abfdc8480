"""Published vectors: RFC 8032, DSSE, RFC 6962 (Certificate Transparency's reference tree), signed notes of Go's sumdb."""

import hashlib

from support import VerifyTest, main

from expunge_verify import envelope, kernel, merkle, note
from expunge_verify.forms import hex_double, parse_hex_double
from expunge_verify.keys import PublicKey

# RFC 8032, 7.1: public key, message, signature.
ED25519 = [
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
]
LEAVES = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
VKEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
NOTE = (
    "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n\n"
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
).encode()


class VectorsTest(VerifyTest):
    def test_ed25519_of_rfc_8032(self):
        for raw, message, signature in ED25519:
            key, signature = PublicKey(bytes.fromhex(raw)), bytes.fromhex(signature)
            self.assertTrue(key.verifies(signature, bytes.fromhex(message)))
            for position in range(8 * len(signature)):
                altered = bytearray(signature)
                altered[position // 8] ^= 1 << position % 8
                self.assertFalse(key.verifies(bytes(altered), bytes.fromhex(message)))

    def test_a_key_s_id_is_the_sha_256_of_its_der(self):
        key = PublicKey(bytes.fromhex(ED25519[0][0]))
        der = bytes.fromhex("302a300506032b6570032100" + ED25519[0][0])
        self.assertEqual(key.key_id, hashlib.sha256(der).hexdigest())

    def test_pre_authentication_encoding_of_dsse(self):
        self.assertEqual(
            envelope.pre_authentication_encoding("http://example.com/HelloWorld", b"hello world"),
            b"DSSEv1 29 http://example.com/HelloWorld 11 hello world",
        )

    def test_the_tree_of_rfc_6962(self):
        hashes = [merkle.leaf_hash(bytes.fromhex(leaf)) for leaf in LEAVES]
        self.assertEqual(merkle.root_of([]).hex(), hashlib.sha256(b"").hexdigest())
        for size, root in enumerate(ROOTS, 1):
            self.assertEqual(merkle.root_of(hashes[:size]).hex(), root)

    def test_the_note_of_gos_sumdb(self):
        key = note.NoteKey.parse(VKEY)
        self.assertEqual(key.vkey, VKEY)
        text, signer = note.open_note(NOTE, [key])
        self.assertEqual((text.count("\n"), signer.name), (2, "PeterNeumann"))
        self.assertRefused("UNKNOWN_CHECKPOINT_KEY", note.open_note, NOTE, [])
        self.assertRefused("BAD_CHECKPOINT_SIGNATURE", note.open_note, NOTE.replace(b"answer", b"Answer"), [key])

    def test_hex_floats_as_c_prints_them(self):
        for text in (
            "0x0p+0",
            "0x1.8p-3",
            "0x1p+1023",
            "0x0.0000000000001p-1022",
            "0x0.8p-1022",
            "-0x1.fffffffffffffp+1023",
            "inf",
        ):
            self.assertEqual(hex_double(parse_hex_double(text)), text)
        for text in (
            "0x1.80p-3",
            "0X1p+0",
            "0x1p0",
            "0x1p+01",
            "0x2p+0",
            "1.0",
            "nan",
            "infinity",
            "0x1p+1024",
            "0x1.p+0",
            " 0x1p+0",
            "0x1p+0 ",
            "",
        ):
            self.assertRaises(ValueError, parse_hex_double, text)

    def test_a_kernel_value_of_zero_distance_is_one(self):
        self.assertEqual(kernel.exp_of_negative(0, 0), 1.0)


if __name__ == "__main__":
    main()
