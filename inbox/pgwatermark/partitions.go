package pgwatermark

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox/internal/pgclaim"
)

// PartitionState is what is remembered of a partition.
type PartitionState struct {
	TopicPartition

	// Next is the offset of the message to process next.
	Next int64
	// Current is set if the source is the one by which the topic is known.
	Current bool
}

// Partitions returns what is remembered for the consumer, by topic, source and
// partition. It writes nothing. It returns admin.ErrUnknownConsumer if the inbox has
// never had a message for one of that name.
func (in *Inbox) Partitions(ctx context.Context) (all []PartitionState, err error) {
	err = in.db.Use(ctx, func(conn *pgx.Conn) error {
		number, err := in.consumer.Known(ctx, conn)
		if err != nil {
			return err
		}
		rows, err := conn.Query(ctx, in.statements.list, number)
		if err != nil {
			return pgclaim.Explain(err)
		}
		all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (s PartitionState, err error) {
			err = row.Scan(&s.Topic, &s.Source, &s.Partition, &s.Next, &s.Current)
			return s, err
		})
		return pgclaim.Explain(err)
	})
	if err != nil {
		return nil, in.wrap("list partitions", err)
	}
	return all, nil
}

// known returns admin.ErrUnknownConsumer for a consumer that changes nothing: change would
// register it.
func (in *Inbox) known(ctx context.Context) error {
	return in.db.Use(ctx, func(conn *pgx.Conn) error {
		_, err := in.consumer.Known(ctx, conn)
		return err
	})
}
