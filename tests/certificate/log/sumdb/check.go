// Verifies what certificate/log made with Go's checksum database packages, which share nothing with it:
//
//	check FOLDER    where write_log_vectors wrote
//
// Every proof, checkpoint and tile must be accepted, and every altered one refused.
package main

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type vectors struct {
	Origin    string   `json:"origin"`
	Vkey      string   `json:"vkey"`
	Entries   []string `json:"entries"`
	Roots     []string `json:"roots"`
	Inclusion []struct {
		Index  int64    `json:"index"`
		Size   int64    `json:"size"`
		Hashes []string `json:"hashes"`
	} `json:"inclusion"`
	Consistency []struct {
		Old    int64    `json:"old"`
		Size   int64    `json:"size"`
		Hashes []string `json:"hashes"`
	} `json:"consistency"`
	Checkpoints []struct {
		Size int64  `json:"size"`
		Note string `json:"note"`
	} `json:"checkpoints"`
	Paths []struct {
		Index   int64  `json:"index"`
		Width   int    `json:"width"`
		Hashes  string `json:"hashes"`
		Entries string `json:"entries"`
	} `json:"paths"`
}

func require(ok bool, format string, arguments ...interface{}) {
	if !ok {
		fmt.Fprintf(os.Stderr, format+"\n", arguments...)
		os.Exit(1)
	}
}

func must(err error) { require(err == nil, "%v", err) }

func hash(text string) tlog.Hash {
	raw, err := hex.DecodeString(text)
	must(err)
	require(len(raw) == tlog.HashSize, "a hash of %d bytes", len(raw))
	var h tlog.Hash
	copy(h[:], raw)
	return h
}

func hashes(texts []string) []tlog.Hash {
	list := []tlog.Hash{}
	for _, text := range texts {
		list = append(list, hash(text))
	}
	return list
}

// Calls check with every proof that has one bit of one hash flipped, is a hash shorter, or a hash longer.
func altered(proof []tlog.Hash, check func([]tlog.Hash)) {
	for i := range proof {
		other := append([]tlog.Hash{}, proof...)
		other[i][i%tlog.HashSize] ^= 1 << (i % 8)
		check(other)
	}
	if len(proof) > 0 {
		check(proof[1:])
		check(proof[:len(proof)-1])
	}
	check(append(append([]tlog.Hash{}, proof...), tlog.Hash{}))
}

func checkInclusion(v *vectors) {
	for _, p := range v.Inclusion {
		entry, err := hex.DecodeString(v.Entries[p.Index])
		must(err)
		leaf, root, proof := tlog.RecordHash(entry), hash(v.Roots[p.Size]), hashes(p.Hashes)
		err = tlog.CheckRecord(tlog.RecordProof(proof), p.Size, root, p.Index, leaf)
		require(err == nil, "inclusion of %d in %d: %v", p.Index, p.Size, err)
		altered(proof, func(other []tlog.Hash) {
			err := tlog.CheckRecord(tlog.RecordProof(other), p.Size, root, p.Index, leaf)
			require(err != nil, "an altered proof of %d in %d passed", p.Index, p.Size)
		})
	}
	fmt.Printf("inclusion: %d proofs\n", len(v.Inclusion))
}

func checkConsistency(v *vectors) {
	for _, p := range v.Consistency {
		before, after, proof := hash(v.Roots[p.Old]), hash(v.Roots[p.Size]), hashes(p.Hashes)
		err := tlog.CheckTree(tlog.TreeProof(proof), p.Size, after, p.Old, before)
		require(err == nil, "from %d to %d: %v", p.Old, p.Size, err)
		altered(proof, func(other []tlog.Hash) {
			err := tlog.CheckTree(tlog.TreeProof(other), p.Size, after, p.Old, before)
			require(err != nil, "an altered proof from %d to %d passed", p.Old, p.Size)
		})
	}
	fmt.Printf("consistency: %d proofs\n", len(v.Consistency))
}

// The tree that a signed checkpoint speaks of.
func open(v *vectors, signed string) (tlog.Tree, error) {
	verifier, err := note.NewVerifier(v.Vkey)
	must(err)
	opened, err := note.Open([]byte(signed), note.VerifierList(verifier))
	if err != nil {
		return tlog.Tree{}, err
	}
	require(len(opened.Sigs) == 1 && opened.Sigs[0].Name == v.Origin, "signed by %v", opened.Sigs)
	lines := strings.Split(opened.Text, "\n")
	require(len(lines) == 4 && lines[0] == v.Origin && lines[3] == "", "lines %q", lines)
	size, err := strconv.ParseInt(lines[1], 10, 64)
	must(err)
	root, err := base64.StdEncoding.DecodeString(lines[2])
	must(err)
	return tlog.Tree{N: size, Hash: hash(hex.EncodeToString(root))}, nil
}

func checkCheckpoints(v *vectors) {
	for _, c := range v.Checkpoints {
		tree, err := open(v, c.Note)
		must(err)
		require(tree.N == c.Size && tree.Hash == hash(v.Roots[c.Size]), "checkpoint of %d", c.Size)
		for i := range c.Note {
			other := []byte(c.Note)
			// Not the lowest bits: Go's base64 reads over those of the last character.
			other[i] ^= 4
			_, err := open(v, string(other))
			require(err != nil, "a checkpoint with byte %d altered passed", i)
		}
	}
	fmt.Printf("checkpoints: %d\n", len(v.Checkpoints))
}

func checkPaths(v *vectors) {
	for _, p := range v.Paths {
		// Go's paths name the height of its tiles, too, and call the entries data.
		hashes := tlog.Tile{H: 8, L: 1, N: p.Index, W: p.Width}.Path()
		require(strings.Replace(hashes, "tile/8/", "tile/", 1) == p.Hashes, "%s and %s", hashes, p.Hashes)
		entries := tlog.Tile{H: 8, L: -1, N: p.Index, W: p.Width}.Path()
		require(strings.Replace(entries, "tile/8/data/", "tile/entries/", 1) == p.Entries, "%s and %s", entries, p.Entries)
	}
	fmt.Printf("paths: %d\n", 2*len(v.Paths))
}

// Tiles from files, with one of them altered if its number is `bad`.
type reader struct {
	folder string
	bad    int
	read   int
}

func (r *reader) Height() int { return 8 }

func (r *reader) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	var contents [][]byte
	for _, tile := range tiles {
		path := strings.Replace(tile.Path(), "tile/8/", "tile/", 1)
		data, err := os.ReadFile(filepath.Join(r.folder, path))
		if err != nil {
			return nil, err
		}
		r.read++
		if r.read == r.bad {
			data[len(data)/2] ^= 1
		}
		contents = append(contents, data)
	}
	return contents, nil
}

func (r *reader) SaveTiles(tiles []tlog.Tile, data [][]byte) {}

func readEntries(folder string, size int64) [][]byte {
	var entries [][]byte
	for n := int64(0); n*256 < size; n++ {
		width := 256
		if size-n*256 < 256 {
			width = int(size - n*256)
		}
		path := strings.Replace(tlog.Tile{H: 8, L: -1, N: n, W: width}.Path(), "tile/8/data/", "tile/entries/", 1)
		data, err := os.ReadFile(filepath.Join(folder, path))
		must(err)
		for len(data) > 0 {
			length := int(binary.BigEndian.Uint16(data))
			entries = append(entries, data[2:2+length])
			data = data[2+length:]
		}
	}
	return entries
}

// Every entry is in the tiles, and the tiles in the checkpoint's tree. `altered`: an altered tile is refused,
// too. (Debian's package checks a full tile against the one above only if the tree is made of as many subtrees
// as its last tiles: 513 = 512 + 1 is.)
func checkTiles(v *vectors, folder string, altered bool) {
	signed, err := os.ReadFile(filepath.Join(folder, "checkpoint"))
	must(err)
	tree, err := open(v, string(signed))
	must(err)
	entries := readEntries(folder, tree.N)
	require(int64(len(entries)) == tree.N, "%d entries of %d", len(entries), tree.N)

	files := &reader{folder: folder}
	for i, entry := range entries {
		// The hash of the entry as the tiles have it, proven to be in the checkpoint's tree.
		found, err := tlog.TileHashReader(tree, files).ReadHashes([]int64{tlog.StoredHashIndex(0, int64(i))})
		require(err == nil, "entry %d: %v", i, err)
		require(found[0] == tlog.RecordHash(entry), "entry %d is not what the tiles have", i)
	}
	first := []int64{tlog.StoredHashIndex(0, 0)}
	count := &reader{folder: folder}
	_, err = tlog.TileHashReader(tree, count).ReadHashes(first)
	must(err)
	require(count.read == 3, "%d tiles read", count.read)
	for bad := 1; altered && bad <= count.read; bad++ {
		_, err := tlog.TileHashReader(tree, &reader{folder: folder, bad: bad}).ReadHashes(first)
		require(err != nil, "altered tile %d passed", bad)
	}
	fmt.Printf("tiles: %d entries\n", len(entries))
}

func main() {
	require(len(os.Args) == 2, "usage: check FOLDER")
	data, err := os.ReadFile(filepath.Join(os.Args[1], "vectors.json"))
	must(err)
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	v := &vectors{}
	must(decoder.Decode(v))
	checkInclusion(v)
	checkConsistency(v)
	checkCheckpoints(v)
	checkPaths(v)
	checkTiles(v, filepath.Join(os.Args[1], "tiles_513"), true)
	checkTiles(v, filepath.Join(os.Args[1], "tiles_700"), false)
}
