"""A deleted token is in no file: not its id, subject, key or value, in any of the encodings that are searched for."""

import os

from fault import FaultTest, forms_of_numbers, forms_of_text, main, search_files

KEY = [0.7312849501836475, -1.2948310576612093, 2.6180339182746153, -0.4142973518264093]
VALUE = [3.1947562083715264, -2.7013856429187435]


def canary_forms():
    return {**forms_of_text("id", "canary-id-7f3a9c51e8"), **forms_of_text("subject", "canary-subject-b20d64"),
            **forms_of_numbers("key", KEY), **forms_of_numbers("value", VALUE)}


class CanaryTest(FaultTest):
    def check_control(self, forms, *paths):
        """Each form, written unsealed into a file among those that are searched, is found there, and only there."""
        for number, (form, needle) in enumerate(forms.items()):
            path = os.path.join(self.server.data, f"control-{number}")
            with open(path, "wb") as file:
                file.write(os.urandom(4099) + needle + os.urandom(77))
            hits, _, _ = search_files({form: needle}, *paths)
            os.remove(path)
            self.assertEqual(hits, [(path, form)])

    def test_no_file_holds_anything_of_a_deleted_token(self):
        self.serve("--erase-bytes-within", "1s", "--log-level", "debug")
        forms = canary_forms()
        paths = (self.server.data, self.server.log, self.path("expunged.err"))
        self.create("birds", keys=len(KEY), values=len(VALUE))
        tokens = [(f"t{i}", f"s{i}", [i / 7, i * i % 5, -i / 3, 1.5], [float(i), 1.0]) for i in range(30)]
        self.add("birds", [*tokens, ("canary-id-7f3a9c51e8", "canary-subject-b20d64", KEY, VALUE)])
        self.assertEqual(self.answer("memory", "get", "birds")["token_count"], 31)
        # Sealed before it is stored: the living token cannot be read in the files either.
        self.assertEqual(search_files(forms, *paths)[0], [])
        self.check_control(forms, *paths)

        self.answer("delete", "birds", "--token", "canary-id-7f3a9c51e8")
        self.assertEqual(search_files(forms, *paths)[0], [])
        self.wait_for_purged(1)
        hits, files, size = search_files(forms, *paths)
        print(f"searched for {len(forms)} forms in {files} files of {size} bytes")
        self.assertEqual(hits, [])
        self.assertGreater(files, 5)
        self.assertEqual(self.answer("erasure", "status")["pending"], 0)
        self.assertEqual(self.server.stop(), 0)
        self.assertEqual(search_files(forms, *paths)[0], [])

        # Neither does a start bring anything back.
        self.server.start()
        self.assertEqual(self.answer("memory", "get", "birds")["token_count"], 30)
        self.check_control(forms, *paths)
        self.assertEqual(search_files(forms, *paths)[0], [])
        self.assertEqual(self.server.stop(), 0)


if __name__ == "__main__":
    main()
