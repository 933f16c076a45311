package pgwatermark

import (
	"context"
	"embed"
	"errors"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/internal/sqlfile"
)

//go:embed sql/*.sql
var statementFiles embed.FS

// keys describes how the positions of one consumer are stored: its number, the topics that it reads, the
// locks and the statements.
type keys struct {
	consumer   pgclaim.Consumer
	topics     map[string]bool
	statements statements
}

type statements struct {
	claim, look, check, begin string
	ids, idsRange             string
	sources, source, retire   string
	rows, seed, set, remove   string
	forget, list, audit       string
}

func newKeys(names pgmigrate.Names, consumer string, topics map[string]bool) (keys, error) {
	c, err := pgclaim.NewConsumer(names, consumer)
	k := keys{consumer: c, topics: topics}
	s := &k.statements
	err = errors.Join(err, sqlfile.Load(statementFiles, names.Render, map[string]*string{
		"claim": &s.claim, "look": &s.look, "check": &s.check, "begin": &s.begin, "ids": &s.ids, "ids_range": &s.idsRange,
		"sources": &s.sources, "source": &s.source, "retire": &s.retire,
		"rows": &s.rows, "seed": &s.seed, "set": &s.set, "remove": &s.remove, "forget": &s.forget, "list": &s.list, "audit": &s.audit,
	}))
	return k, err
}

// number returns the consumer's number, registering it the first time. A consumer with
// ids is refused when partitions are assigned.
func (k keys) number(ctx context.Context, conn *pgx.Conn) (int16, error) {
	return k.consumer.Remembered(conn, "watermark", func() (int16, error) { return k.consumer.Registered(ctx, conn) })
}

// lockOf is the advisory lock of a partition.
func (k keys) lockOf(source pgtype.UUID, partition int32) int64 {
	return keyhash.Lock("inbox watermark", k.consumer.Table, k.consumer.Name, string(source.Bytes[:]), strconv.Itoa(int(partition)))
}

// ordered returns the advisory lock of the consumer's sources.
func (k keys) ordered() int64 {
	return keyhash.Lock("inbox sources", k.consumer.Table, k.consumer.Name)
}
