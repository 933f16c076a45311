package pginbox

import (
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/internal/sqlfile"
)

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
	err := sqlfile.Load(statementFiles, names.Render, map[string]*string{
		"claim": &k.claim, "seen": &k.seen, "consumer": &k.lookup, "register": &k.register,
		"claim_batch": &k.claimBatch, "claim_or_fail": &k.claimOrFail, "watermark_used": &k.used, "hidden": &k.hidden,
	})
	if err != nil {
		return keys{}, err
	}
	k.rangeKeys, err = newRangeKeys(names)
	return k, err
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
