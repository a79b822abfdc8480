// Verifies that a transparency log has a certificate, with Go's checksum database packages
// (golang.org/x/mod/sumdb), which share nothing with Expunge:
//
//	sumdb -vkey VKEY [-log DIR] [-old FILE] CERTIFICATE...
//
// Beside each certificate NAME.json lies its proof NAME.tlog-proof. Checked are each proof's checkpoint (sumdb/note) and that
// the certificate is in the checkpoint's tree (sumdb/tlog). With -log, a copy of the log's files (C2SP tlog-tiles), also
// that its checkpoint's tree begins with that of every other checkpoint seen, and with that of -old, a checkpoint kept from
// earlier. Prints a line for each, and the first refusal ends it with status 1; status 2 is wrong usage.
//
// Build, on Debian 12 with golang-go and golang-golang-x-mod-dev:
//
//	GO111MODULE=off GOPATH=/usr/share/gocode go build sumdb.go
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

const tileHeight = 8

type checkpoint struct {
	file string
	tree tlog.Tree
}

func refuse(format string, arguments ...interface{}) {
	fmt.Fprintf(os.Stderr, format+"\n", arguments...)
	os.Exit(1)
}

func read(path string) []byte {
	content, err := os.ReadFile(path)
	if err != nil {
		refuse("%v", err)
	}
	return content
}

// The log's entry for a certificate: SHA-256 of the signed bytes, signature, SHA-256 of the signing key.
func leaf(path string) []byte {
	var envelope struct {
		Payload     []byte `json:"payload"`
		PayloadType string `json:"payloadType"`
		Signatures  []struct {
			KeyID string `json:"keyid"`
			Sig   []byte `json:"sig"`
		} `json:"signatures"`
	}
	if err := json.Unmarshal(read(path), &envelope); err != nil {
		refuse("%s: %v", path, err)
	}
	if len(envelope.Signatures) != 1 || len(envelope.Signatures[0].Sig) != 64 {
		refuse("%s: not one Ed25519 signature", path)
	}
	key, err := hex.DecodeString(envelope.Signatures[0].KeyID)
	if err != nil || len(key) != sha256.Size {
		refuse("%s: not the id of a key", path)
	}
	signed := sha256.New()
	fmt.Fprintf(signed, "DSSEv1 %d %s %d ", len(envelope.PayloadType), envelope.PayloadType, len(envelope.Payload))
	signed.Write(envelope.Payload)
	entry := append(signed.Sum(nil), envelope.Signatures[0].Sig...)
	return append(entry, key...)
}

// A checkpoint that the verifier's key signed: origin, size and root, each a line.
func open(file string, content []byte, verifier note.Verifier) checkpoint {
	signed, err := note.Open(content, note.VerifierList(verifier))
	if err != nil {
		refuse("%s: checkpoint: %v", file, err)
	}
	lines := strings.Split(signed.Text, "\n")
	if len(lines) < 4 || lines[0] != verifier.Name() {
		refuse("%s: not a checkpoint of %s", file, verifier.Name())
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil || size < 0 {
		refuse("%s: the checkpoint has no size", file)
	}
	root, err := tlog.ParseHash(lines[2])
	if err != nil {
		refuse("%s: %v", file, err)
	}
	return checkpoint{file, tlog.Tree{N: size, Hash: root}}
}

func checkInclusion(path string, verifier note.Verifier) checkpoint {
	file := strings.TrimSuffix(path, filepath.Ext(path)) + ".tlog-proof"
	head, signed, found := bytes.Cut(read(file), []byte("\n\n"))
	lines := strings.Split(string(head), "\n")
	if !found || lines[0] != "c2sp.org/tlog-proof@v1" {
		refuse("%s: not a tlog-proof", file)
	}
	lines = lines[1:]
	if len(lines) > 0 && strings.HasPrefix(lines[0], "extra ") {
		lines = lines[1:]
	}
	if len(lines) == 0 || !strings.HasPrefix(lines[0], "index ") {
		refuse("%s: there is no index", file)
	}
	index, err := strconv.ParseInt(strings.TrimPrefix(lines[0], "index "), 10, 64)
	if err != nil {
		refuse("%s: %v", file, err)
	}
	proof := tlog.RecordProof{}
	for _, line := range lines[1:] {
		hash, err := tlog.ParseHash(line)
		if err != nil {
			refuse("%s: %v", file, err)
		}
		proof = append(proof, hash)
	}
	seen := open(file, signed, verifier)
	if err := tlog.CheckRecord(proof, seen.tree.N, seen.tree.Hash, index, tlog.RecordHash(leaf(path))); err != nil {
		refuse("%s: %v", path, err)
	}
	fmt.Printf("%s: entry %d of the %d that the log's checkpoint signs\n", filepath.Base(path), index, seen.tree.N)
	return seen
}

// Tiles as C2SP tlog-tiles names them: as Go does, but without the height.
type tiles struct{ directory string }

func (t tiles) Height() int { return tileHeight }

func (t tiles) SaveTiles([]tlog.Tile, [][]byte) {}

func (t tiles) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	contents := [][]byte{}
	for _, tile := range wanted {
		name := strings.Replace(tile.Path(), fmt.Sprintf("tile/%d/", tileHeight), "tile/", 1)
		content, err := os.ReadFile(filepath.Join(t.directory, name))
		if err != nil && tile.W < 1<<tileHeight {
			// A partial tile may be gone where the full one is there.
			content, err = os.ReadFile(filepath.Join(t.directory, strings.TrimSuffix(name, fmt.Sprintf(".p/%d", tile.W))))
		}
		if err != nil {
			return nil, err
		}
		if len(content) > tile.W*tlog.HashSize {
			content = content[:tile.W*tlog.HashSize]
		}
		contents = append(contents, content)
	}
	return contents, nil
}

func checkConsistency(directory string, verifier note.Verifier, older []checkpoint) {
	file := filepath.Join(directory, "checkpoint")
	newest := open(file, read(file), verifier)
	reader := tlog.TileHashReader(newest.tree, tiles{directory})
	for _, old := range older {
		if old.tree.N == 0 || old.tree.N == newest.tree.N {
			if old.tree.N != 0 && old.tree.Hash != newest.tree.Hash {
				refuse("%s: one size, two roots", old.file)
			}
			continue
		}
		if old.tree.N > newest.tree.N {
			refuse("%s: the log has become shorter", old.file)
		}
		proof, err := tlog.ProveTree(newest.tree.N, old.tree.N, reader)
		if err == nil {
			err = tlog.CheckTree(proof, newest.tree.N, newest.tree.Hash, old.tree.N, old.tree.Hash)
		}
		if err != nil {
			refuse("%s: %v", old.file, err)
		}
	}
	fmt.Printf("the log of %d entries begins as the %d older checkpoints say\n", newest.tree.N, len(older))
}

func main() {
	vkey := flag.String("vkey", "", "the log's verifier key")
	log := flag.String("log", "", "a copy of the log's files")
	old := flag.String("old", "", "a checkpoint kept from earlier; with -log")
	flag.Parse()
	if *vkey == "" || flag.NArg() == 0 || (*old != "" && *log == "") {
		flag.Usage()
		os.Exit(2)
	}
	verifier, err := note.NewVerifier(strings.TrimSpace(*vkey))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	seen := []checkpoint{}
	for _, path := range flag.Args() {
		seen = append(seen, checkInclusion(path, verifier))
	}
	if *old != "" {
		seen = append(seen, open(*old, read(*old), verifier))
	}
	if *log != "" {
		checkConsistency(*log, verifier, seen)
	}
}
