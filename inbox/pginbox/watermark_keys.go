package pginbox

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/internal/sqlfile"
)

// watermarkKeys knows how one consumer's positions are stored: the statements for
// the configured names, and the keys that they take.
type watermarkKeys struct {
	keys

	topics map[string]bool

	claim, look, check      string // in place of those of ids
	begin                   string
	ids, idsRange           string
	sources, source, retire string
	rows, seed, set, remove string
	forget, list            string
}

func newWatermarkKeys(names pgmigrate.Names, consumer string, topics map[string]bool) (watermarkKeys, error) {
	base, err := newKeys(names, consumer)
	k := watermarkKeys{keys: base, topics: topics}
	if err != nil {
		return k, err
	}
	err = sqlfile.Load(statementFiles, names.Render, map[string]*string{
		"watermark_claim": &k.claim, "watermark_look": &k.look, "watermark_check": &k.check, "watermark_begin": &k.begin,
		"watermark_ids": &k.ids, "watermark_ids_range": &k.idsRange,
		"watermark_sources": &k.sources, "watermark_source": &k.source, "watermark_retire": &k.retire,
		"watermark_rows": &k.rows, "watermark_seed": &k.seed, "watermark_set": &k.set, "watermark_remove": &k.remove,
		"watermark_forget": &k.forget, "watermark_list": &k.list,
	})
	return k, err
}

// number is keys.number without its refusal of consumers with positions; those
// with ids are refused when partitions are assigned.
func (k watermarkKeys) number(ctx context.Context, conn *pgx.Conn) (int16, error) {
	memory, name := conn.PgConn().CustomData(), "leat.watermark "+k.table+" "+k.consumer
	if number, ok := memory[name].(int16); ok {
		return number, nil
	}
	number, err := k.find(ctx, conn)
	if errors.Is(err, pgx.ErrNoRows) {
		number, err = k.enrol(ctx, conn)
	}
	if err != nil {
		return 0, explain(err)
	}
	memory[name] = number
	return number, nil
}

// place is a position as it is stored.
type place struct {
	driver.Position

	source pgtype.UUID
	lock   int64
}

// place finds the position of a delivery and says why it cannot be used.
func (k watermarkKeys) place(ctx context.Context) (place, error) {
	at, ok := driver.PositionFrom(ctx)
	if !ok {
		return place{}, fmt.Errorf("%w: its context carries none", driver.ErrNoPosition)
	}
	source, err := k.sourceOf(at.Topic, at.Source, at.Partition)
	switch {
	case err != nil:
		return place{}, err
	case at.Offset < 0 || at.Prev < -1 || at.Prev >= at.Offset:
		return place{}, fmt.Errorf("%w: offset %d after %d", driver.ErrNoPosition, at.Offset, at.Prev)
	case !at.Serial:
		return place{}, fmt.Errorf("%w: topic %.200q", driver.ErrNotSerial, at.Topic)
	}
	return place{Position: at, source: source, lock: k.lockOf(source, at.Partition)}, nil
}

// sourceOf checks what names a partition that is read.
func (k watermarkKeys) sourceOf(topic, source string, partition int32) (pgtype.UUID, error) {
	if !k.topics[topic] {
		return pgtype.UUID{}, fmt.Errorf("%w: topic %.200q", driver.ErrWrongTopic, topic)
	}
	return storedSource(topic, source, partition)
}

// storedSource is the stored form of a source. Brokers that have no ids for topics
// send zeros: the partitions of all their topics would be one.
func storedSource(topic, source string, partition int32) (pgtype.UUID, error) {
	stored, canonical := ids.Map(source)
	switch {
	case !canonical || stored == ids.UUID{}:
		return pgtype.UUID{}, fmt.Errorf("%w: source %.200q of topic %.200q is no canonical UUID", driver.ErrNoPosition, source, topic)
	case partition < 0:
		return pgtype.UUID{}, fmt.Errorf("%w: partition %d of topic %.200q", driver.ErrNoPosition, partition, topic)
	}
	return pgtype.UUID{Bytes: stored, Valid: true}, nil
}

// lockOf is the advisory lock of a partition.
func (k watermarkKeys) lockOf(source pgtype.UUID, partition int32) int64 {
	return keyhash.Lock("inbox watermark", k.table, k.consumer, string(source.Bytes[:]), strconv.Itoa(int(partition)))
}

// ordered is the advisory lock of what is remembered of the consumer's sources.
func (k watermarkKeys) ordered() int64 {
	return keyhash.Lock("inbox sources", k.table, k.consumer)
}

// verdict says what it means that a claim found nothing to update. Next is what is
// remembered of the partition, current the source of the topic, nil for nothing.
func (at place) verdict(next *int64, current *string) (driver.Status, error) {
	switch {
	case next == nil && current != nil && *current != at.Source:
		return 0, &driver.SourceChangedError{Topic: at.Topic, Known: *current, Found: at.Source}
	case next == nil:
		return 0, fmt.Errorf("%w: partition %d of topic %.200q", driver.ErrNotAssigned, at.Partition, at.Topic)
	case *next > at.Offset:
		return driver.Duplicate, nil
	case *next <= at.Prev:
		return 0, &driver.GapError{Position: at.Position, Next: *next}
	default:
		return driver.Busy, nil
	}
}
