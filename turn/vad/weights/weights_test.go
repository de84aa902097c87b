package weights_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"headstart/turn/vad/weights"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// content is a file of 300,000 bytes that no range of looks like another.
func content() []byte {
	random := rand.New(rand.NewPCG(1, 1))
	b := make([]byte, 300_000)
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return b
}

func model(url string, file []byte) weights.Model {
	sum := sha256.Sum256(file)
	return weights.Model{Name: "test", URL: url, SHA256: hex.EncodeToString(sum[:]), File: "test.bin", Size: int64(len(file))}
}

func wantFile(t *testing.T, path string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("%s has %d bytes that are not the %d wanted", path, len(got), len(want))
	}
}

// wantOnly wants a folder to hold these files and no others.
func wantOnly(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("files (-want +got):\n%s", diff)
	}
}

func TestInstall(t *testing.T) {
	t.Parallel()
	file := content()
	from := filepath.Join(t.TempDir(), "stick")
	if err := os.WriteFile(from, file, 0o600); err != nil {
		t.Fatal(err)
	}
	m, dir := model("", file), filepath.Join(t.TempDir(), "models")
	path, err := weights.Install(from, m, dir)
	if err != nil {
		t.Fatal(err)
	}
	wantFile(t, path, file)
	wantOnly(t, dir, "test.bin")
	if err := weights.Verify(path, m); err != nil {
		t.Fatal(err)
	}
}

func TestInstallRefuses(t *testing.T) {
	t.Parallel()
	file := content()
	from := filepath.Join(t.TempDir(), "stick")
	for name, brought := range map[string][]byte{"shorter": file[:9], "longer": append(content(), 0), "nothing": nil} {
		t.Run(name, func(t *testing.T) {
			from := from + name
			if err := os.WriteFile(from, brought, 0o600); err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			_, err := weights.Install(from, model("", file), dir)
			var hash *weights.HashError
			if !errors.As(err, &hash) || hash.Path != from {
				t.Fatalf("error %v, want a wrong hash of %s", err, from)
			}
			wantOnly(t, dir)
		})
	}
	dir := t.TempDir()
	if _, err := weights.Install(from, model("", file), dir); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("error %v, want that the file is absent", err)
	}
	wantOnly(t, dir)
}

func TestCatalogue(t *testing.T) {
	t.Parallel()
	for _, m := range weights.Catalogue() {
		if err := m.Validate(); err != nil {
			t.Fatalf("%s: %v", m.Name, err)
		}
		if found, ok := weights.Find(m.Name); !ok || found != m {
			t.Fatalf("%s is not found by its name", m.Name)
		}
	}
	if _, ok := weights.Find("no such"); ok {
		t.Fatal("a model that is not there was found")
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	good := model("", content())
	for name, file := range map[string]string{"no name": "", "a path": "a/b", "the parent": "..", "the folder": "."} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad := good
			bad.File = file
			if err := bad.Validate(); err == nil {
				t.Fatalf("%q was taken for a name", file)
			}
			if _, err := weights.Pull(t.Context(), http.DefaultClient, bad, t.TempDir(), nil); err == nil {
				t.Fatal("it was pulled")
			}
			if _, err := weights.Install("x", bad, t.TempDir()); err == nil {
				t.Fatal("it was installed")
			}
		})
	}
	err := weights.Model{File: "x", SHA256: "abc"}.Validate()
	if err == nil {
		t.Fatal("no complaint")
	}
	want := "sha256 \"abc\" is not 64 hexadecimal digits\nsize 0 is not positive"
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Fatalf("complaints (-want +got):\n%s", diff)
	}
}

// The publisher's file, as the operator has it, is the catalogue's.
func TestCatalogueMatchesFile(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("HEADSTART_SHARED")
	if dir == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("HEADSTART_SHARED is unset: the model files are needed in CI")
		}
		t.Skip("HEADSTART_SHARED is unset: needs its models/silero_vad_16k.safetensors")
	}
	m, _ := weights.Find(weights.Silero)
	path, err := weights.Install(filepath.Join(dir, "models", "silero_vad_16k.safetensors"), m, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	stat, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if stat.Size() != m.Size {
		t.Fatalf("size %d, want %d", stat.Size(), m.Size)
	}
}
