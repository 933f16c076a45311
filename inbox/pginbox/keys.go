package pginbox

import (
	_ "embed"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/internal/pgmigrate"
)

//go:embed sql/claim.sql
var claimSQL string

//go:embed sql/seen.sql
var seenSQL string

//go:embed sql/consumer.sql
var consumerSQL string

//go:embed sql/register.sql
var registerSQL string

//go:embed sql/watermark_used.sql
var usedSQL string

// keys knows how one consumer's messages are stored: the statements for the
// configured names, and the keys that they take.
type keys struct {
	consumer string
	table    string // quoted

	claim, seen, lookup, register string
	claimBatch, claimOrFail, used string
	hidden                        string

	rangeKeys
}

func newKeys(names pgmigrate.Names, consumer string) (keys, error) {
	k := keys{consumer: consumer, table: names.Qualified("")}
	for _, s := range [...]struct {
		into *string
		sql  string
	}{
		{&k.claim, claimSQL},
		{&k.seen, seenSQL},
		{&k.lookup, consumerSQL},
		{&k.register, registerSQL},
		{&k.claimBatch, claimBatchSQL},
		{&k.claimOrFail, claimOrFailSQL},
		{&k.used, usedSQL},
		{&k.hidden, hiddenSQL},
	} {
		sql, err := names.Render(withoutComments(s.sql))
		if err != nil {
			return keys{}, err
		}
		*s.into = sql
	}
	var err error
	k.rangeKeys, err = newRangeKeys(names)
	return k, err
}

// withoutComments drops the comment above a statement, which is for us and not
// for the server's logs.
func withoutComments(sql string) string {
	for strings.HasPrefix(sql, "--") {
		_, sql, _ = strings.Cut(sql, "\n")
	}
	return strings.TrimSpace(sql)
}

// id is the stored form of a message's id.
func (k keys) id(id string) pgtype.UUID {
	stored, _ := ids.Map(id)
	return pgtype.UUID{Bytes: stored, Valid: true}
}

// lock is the advisory lock of a message. The salt keeps it apart from the
// outbox's: a handler may enqueue while it holds this one.
func (k keys) lock(id pgtype.UUID) int64 {
	return keyhash.Lock("inbox", k.table, k.consumer, string(id.Bytes[:]))
}
