package assemble

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

// archive writes messages to files in a directory, compressed, one JSON object per line. A file appears as
// a whole or not at all, and is never replaced.
type archive struct{ dir, name string }

var errNoDirectory = errors.New("is not a directory")

// newArchive checks that files can be written to dir.
func newArchive(dir, name string) (*archive, error) {
	if dir == "" {
		return nil, outbox.ConfigError("dir", `""`, "must be set")
	}
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = errNoDirectory
	}
	if err != nil {
		return nil, outbox.ConfigError("dir", dir, err.Error())
	}
	return &archive{dir, safe(name)}, nil
}

// suffix ends the names of files.
const suffix = ".jsonl.gz"

// safe returns the name of an outbox as a prefix of file names.
func safe(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || r == filepath.Separator || r < ' ' {
			return '_'
		}
		return r
	}, name)
}

// archived is a message in an archive.
type archived struct {
	Seq        int64             `json:"seq"`
	ID         string            `json:"id"`
	Topic      string            `json:"topic"`
	Key        string            `json:"key,omitempty"`
	Type       string            `json:"type,omitempty"`
	Headers    map[string]string `json:"headers,omitempty"`
	Payload    []byte            `json:"payload"`
	OccurredAt *time.Time        `json:"occurred_at,omitempty"`
	CreatedAt  time.Time         `json:"created_at"`
}

// write is a pgoutbox.ArchiveFunc. The file is named after its first and last number, since messages that
// are deleted in chunks arrive with the same range several times.
func (a *archive) write(_ context.Context, _ admin.Range, records iter.Seq2[outbox.Record, error]) (err error) {
	file, err := os.CreateTemp(a.dir, ".leat-*.partial")
	if err != nil {
		return fmt.Errorf("leat: archive: %w", err)
	}
	defer func() {
		_ = file.Close()
		_ = os.Remove(file.Name()) // if it still has this name
	}()
	buffer := bufio.NewWriterSize(file, 256<<10)
	compressed := gzip.NewWriter(buffer)
	lines := json.NewEncoder(compressed)
	var first, last int64
	for r, err := range records {
		if err != nil {
			return err
		}
		first = cmp.Or(first, r.Seq)
		last = r.Seq
		if err := lines.Encode(lineOf(&r)); err != nil {
			return fmt.Errorf("leat: archive: %w", err)
		}
	}
	if first == 0 {
		return nil
	}
	for _, finish := range []func() error{compressed.Close, buffer.Flush, file.Sync, file.Close} {
		if err := finish(); err != nil {
			return fmt.Errorf("leat: archive: %w", err)
		}
	}
	name := fmt.Sprintf("%s-%019d-%019d", a.name, first, last)
	if err := a.publish(file.Name(), name); err != nil {
		return fmt.Errorf("leat: archive: %w", err)
	}
	return a.sync()
}

// publish gives the file a name that is not used, unless a file with that name has the same content. A
// range that is archived once more may have messages that were committed in between.
func (a *archive) publish(partial, name string) error {
	path := filepath.Join(a.dir, name+suffix)
	for n := 2; ; n++ {
		err := os.Link(partial, path)
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		if same, err := alike(partial, path); err != nil || same {
			return err
		}
		path = filepath.Join(a.dir, fmt.Sprintf("%s.%d%s", name, n, suffix))
	}
}

// alike reports whether two files have the same content.
func alike(a, b string) (bool, error) {
	var sums [2][sha256.Size]byte
	for i, path := range []string{a, b} {
		file, err := os.Open(path) //nolint:gosec // the operator names the directory
		if err != nil {
			return false, err
		}
		sum := sha256.New()
		_, err = io.Copy(sum, file)
		if err := errors.Join(err, file.Close()); err != nil {
			return false, err
		}
		sum.Sum(sums[i][:0])
	}
	return sums[0] == sums[1], nil
}

func lineOf(r *outbox.Record) archived {
	line := archived{
		Seq: r.Seq, ID: r.ID, Topic: r.Topic, Key: r.Key, Type: r.Type, Headers: r.Headers, Payload: r.Payload, CreatedAt: r.CreatedAt.UTC(),
	}
	if !r.OccurredAt.IsZero() {
		at := r.OccurredAt.UTC()
		line.OccurredAt = &at
	}
	return line
}

// sync makes the new name durable.
func (a *archive) sync() error {
	dir, err := os.Open(a.dir)
	if err != nil {
		return fmt.Errorf("leat: archive: %w", err)
	}
	defer func() { _ = dir.Close() }()
	if err := dir.Sync(); err != nil {
		return fmt.Errorf("leat: archive: %w", err)
	}
	return nil
}
