package main

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/dynamoinbox"
	"github.com/leat-go/leat/internal/history"
	"github.com/leat-go/leat/internal/prover"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/dynamooutbox"
)

// shop is a shop in the scratch tables.
type shop struct {
	s     *server
	db    *dynamodb.Client
	close func()
	ob    *dynamooutbox.Outbox
	in    *dynamoinbox.Inbox
	rows  atomic.Int64
	wires prover.Wires
}

// Partitions of the table shop. A key has a partition of its own, for its last number.
const ledger, effects, keyPrefix = "ledger", "effects", "key#"

// Shop implements prover.Server.
func (s *server) Shop(context.Context) (prover.Shop, error) {
	p := &shop{s: s}
	p.db, p.close = s.client(&p.wires)
	var err error
	if p.ob, p.in, err = s.stores(p.db, prover.Consumer); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// Produce implements prover.Shop. Nothing is open before COMMIT: if the number of the key has moved by then,
// the transaction is built again, as a service would.
func (p *shop) Produce(ctx context.Context, m outbox.Message, hold func(version int64) bool) (history.Type, error) {
	row := p.rows.Add(1)
	for first := true; ; first = false {
		last, err := p.lastOf(ctx, m.Key)
		if err != nil {
			return history.Aborted, err
		}
		tx := p.ob.Begin()
		if err := errors.Join(tx.Add(p.moved(m.Key, last), p.sold(row, &m, last+1)), p.ob.Enqueue(ctx, tx, m)); err != nil {
			return history.Aborted, err
		}
		if first && !hold(last+1) {
			tx.Rollback()
			return history.Aborted, nil
		}
		err = tx.Commit(ctx)
		_, moved := errors.AsType[*dynamooutbox.RefusedError](err)
		switch {
		case err == nil:
			return history.Committed, nil
		case errors.Is(err, outbox.ErrCommitUnknown):
			return history.Unknown, err
		case !moved || ctx.Err() != nil:
			return history.Aborted, err
		}
	}
}

// lastOf returns the last number of a key, 0 if there is none.
func (p *shop) lastOf(ctx context.Context, key string) (int64, error) {
	out, err := p.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: p.s.table(shopTable), Key: at(keyPrefix+key, 0), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return 0, err
	}
	return numberOf(out.Item, "v"), nil
}

// moved moves the number of a key.
func (p *shop) moved(key string, last int64) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{
		TableName: p.s.table(shopTable), Key: at(keyPrefix+key, 0), UpdateExpression: aws.String("SET v = :next"),
		ConditionExpression:       aws.String("attribute_not_exists(pk) OR v = :last"),
		ExpressionAttributeValues: item{":last": number(last), ":next": number(last + 1)},
	}}
}

// sold is the row of the ledger.
func (p *shop) sold(row int64, m *outbox.Message, version int64) types.TransactWriteItem {
	put := at(ledger, row)
	put["i"], put["k"], put["v"] = text(m.ID), text(m.Key), number(version)
	return types.TransactWriteItem{Put: &types.Put{TableName: p.s.table(shopTable), Item: put}}
}

// Source implements prover.Shop.
func (p *shop) Source(_ context.Context, w *prover.Wires) (driver.Source, func(), error) {
	db, end := p.s.client(w)
	ob, _, err := p.s.stores(db, prover.Consumer)
	if err != nil {
		end()
		return nil, nil, err
	}
	source, err := ob.Source(dynamooutbox.SourceConfig{})
	return source, end, err
}

// Consume implements prover.Shop.
func (p *shop) Consume(ctx context.Context, msg *message.Message) (inbox.Outcome, error) {
	return p.in.Process(ctx, msg, func(ctx context.Context) error {
		put := at(effects, p.rows.Add(1))
		put["i"], put["k"] = text(msg.UUID), text(msg.Metadata.Get("key"))
		tx, _ := dynamoinbox.Tx(ctx)
		return tx.Add(types.TransactWriteItem{Put: &types.Put{TableName: p.s.table(shopTable), Item: put}})
	})
}

// Truth implements prover.Shop.
func (p *shop) Truth(ctx context.Context) (all prover.Truth, err error) {
	for of, into := range map[string]*[]prover.Row{ledger: &all.Ledger, effects: &all.Effects} {
		items, err := query(ctx, p.db, p.s.table(shopTable), of, 0)
		if err != nil {
			return all, err
		}
		for _, i := range items {
			*into = append(*into, prover.Row{ID: textOf(i, "i"), Key: textOf(i, "k"), Version: numberOf(i, "v"), Number: numberOf(i, "sk")})
		}
	}
	return all, nil
}

// Waiting implements prover.Shop. The id of a message is the attribute i, pending or held.
func (p *shop) Waiting(ctx context.Context, ids []string) (waiting []string, err error) {
	there := map[string]bool{}
	for pages := dynamodb.NewScanPaginator(p.db, &dynamodb.ScanInput{TableName: p.s.table(outboxTable), ConsistentRead: aws.Bool(true)}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, i := range page.Items {
			there[textOf(i, "i")] = true
		}
	}
	for _, id := range ids {
		if there[id] {
			waiting = append(waiting, id)
		}
	}
	return waiting, nil
}

// CutOne implements prover.Shop.
func (p *shop) CutOne() bool { return p.wires.CutOne() }

// End implements prover.Shop.
func (p *shop) End() { p.close() }
