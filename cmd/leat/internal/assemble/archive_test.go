package assemble

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errCut = errors.New("cut")

// records are n of them from seq on, and then an error if there is one.
func records(seq int64, n int, end error) iter.Seq2[outbox.Record, error] {
	return func(yield func(outbox.Record, error) bool) {
		for i := range n {
			r := outbox.Record{Message: outbox.Message{ID: "m", Topic: "orders", Key: "k", Payload: []byte{0xff, 0}}, Seq: seq + int64(i), CreatedAt: time.Unix(1, 0)}
			if !yield(r, nil) {
				return
			}
		}
		if end != nil {
			yield(outbox.Record{}, end)
		}
	}
}

// An archive has every record, as whole files; one that fails leaves nothing.
func TestArchive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, err := newArchive(dir, "shop/eu")
	require.NoError(t, err)
	require.ErrorIs(t, a.write(t.Context(), admin.Range{}, records(1, 3, errCut)), errCut)
	require.NoError(t, a.write(t.Context(), admin.Range{}, records(1, 0, nil)))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)

	require.NoError(t, a.write(t.Context(), admin.Range{}, records(1, 3, nil)))
	require.NoError(t, a.write(t.Context(), admin.Range{}, records(4, 2, nil)))
	require.NoError(t, a.write(t.Context(), admin.Range{}, records(4, 2, nil)), "again")
	left, err = os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 2)
	var seqs []int64
	for _, entry := range left {
		require.Regexp(t, `^shop_eu-0*[14]-0*[35]\.jsonl\.gz$`, entry.Name())
		file, err := os.Open(filepath.Join(dir, entry.Name()))
		require.NoError(t, err)
		plain, err := gzip.NewReader(file)
		require.NoError(t, err)
		for lines := json.NewDecoder(plain); lines.More(); {
			var line archived
			require.NoError(t, lines.Decode(&line))
			require.Equal(t, []byte{0xff, 0}, line.Payload)
			seqs = append(seqs, line.Seq)
		}
		require.NoError(t, file.Close())
	}
	require.Equal(t, []int64{1, 2, 3, 4, 5}, seqs)
}

// An archive never replaces a file: neither that of another process whose outbox makes the
// same names, nor one that was written before a late message was committed.
func TestArchive_ReplacesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := newArchive(dir, "shop/eu")
	require.NoError(t, err)
	second, err := newArchive(dir, "shop_eu")
	require.NoError(t, err)
	const name = "shop_eu-0000000000000000001-0000000000000000003"
	require.NoError(t, first.write(t.Context(), admin.Range{}, records(1, 3, nil)))
	kept, err := os.ReadFile(filepath.Join(dir, name+".jsonl.gz"))
	require.NoError(t, err)
	other := func(yield func(outbox.Record, error) bool) {
		for r := range records(1, 3, nil) {
			r.ID = "another's"
			if !yield(r, nil) {
				return
			}
		}
	}
	for range 2 {
		require.NoError(t, second.write(t.Context(), admin.Range{}, other))
	}
	require.NoError(t, first.write(t.Context(), admin.Range{}, records(1, 3, nil)))
	left, err := os.ReadFile(filepath.Join(dir, name+".jsonl.gz"))
	require.NoError(t, err)
	require.Equal(t, kept, left)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2)
	require.Equal(t, name+".2.jsonl.gz", entries[0].Name())
}

// Two outboxes of one file whose archives would have the same names are refused.
func TestNew_RefusesArchivesOfOneName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "leat.yaml")
	require.NoError(t, os.WriteFile(path, []byte(`
outboxes:
  - {name: shop/eu, maintenance: {archive: {dir: '`+dir+`'}}}
  - {name: shop_eu, table: other, maintenance: {archive: {dir: '`+dir+`/'}}}
`), 0o600))
	file, err := settings.Read(path)
	require.NoError(t, err)
	in := Input{Settings: settings.Defaults(""), Database: "postgres://leat@db/shop", Logger: slog.New(slog.DiscardHandler)}
	in.Daemon, err = file.DaemonOf("", os.LookupEnv)
	require.NoError(t, err)
	require.ErrorContains(t, Check(t.Context(), in), `leat.yaml:3: outboxes[0].maintenance.archive.dir: files of outbox "shop/eu" would be called like those of "shop_eu"`)
}
