package dynamooutbox

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leat-go/leat/internal/erase"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/heldqueue"
)

var _ driver.Eraser = operator{}

// eraseChunk is the number of messages that one transaction deletes, each with a note.
const eraseChunk = 40

// erasable are the items to erase that were found in the table.
type erasable struct {
	pending []outbox.Record
	held    []int64
	group   string
	audited []int64
	// counters are the counters of the key, in matching topics.
	counters []item
}

// Erase implements driver.Eraser. It reads the whole table: there are no indexes.
//
// If the request selects a key, its counters are deleted, too, since their names contain the key.
// A message that is enqueued at the same time keeps its counter: erase again.
func (o operator) Erase(ctx context.Context, r driver.EraseRequest) (found driver.Erased, err error) {
	if err := erase.Check(&r); err != nil {
		return found, err
	}
	all, rows, err := o.findErasable(ctx, &r, &found)
	if err != nil || r.DryRun {
		return found, err
	}
	if err := o.eraseAudited(ctx, rows.audited); err != nil {
		return found, err
	}
	by := admin.By{Actor: r.Actor, Reason: r.Reason}
	for from := 0; from < len(rows.pending); from += eraseChunk {
		if err := o.erasePending(ctx, rows.group, rows.pending[from:min(from+eraseChunk, len(rows.pending))], by); err != nil {
			return found, err
		}
	}
	held, err := o.findHeld(ctx, rows.group, &all, &driver.Erased{}) // the relay may have set more aside
	if err != nil {
		return found, err
	}
	if len(held) > 0 {
		if err := o.Operators.Erase(ctx, rows.group, held, by); err != nil {
			return found, err
		}
	}
	if err := o.eraseCounters(ctx, rows.counters); err != nil {
		return found, err
	}
	more, err := o.findAudited(ctx, &all)
	if err == nil {
		err = o.eraseAudited(ctx, more)
	}
	return found, err
}

// findErasable returns what r selects, and r with the ids of what it has found.
func (o operator) findErasable(ctx context.Context, r *driver.EraseRequest, found *driver.Erased) (all driver.EraseRequest, rows erasable, err error) {
	l, err := o.readLease(ctx)
	if err != nil {
		return all, rows, err
	}
	rows.group = l.group
	if rows.pending, err = o.findPending(ctx, r, found); err != nil {
		return all, rows, err
	}
	if rows.held, err = o.findHeld(ctx, rows.group, r, found); err != nil {
		return all, rows, err
	}
	all = erase.With(*r, found.IDs)
	if rows.audited, err = o.findAudited(ctx, &all); err != nil {
		return all, rows, err
	}
	rows.counters, err = o.findCounters(ctx, r, found)
	erase.Count(found, erase.Audit, len(rows.audited))
	erase.Count(found, erase.Counters, len(rows.counters))
	return all, rows, err
}

// each calls do for the items of a partition.
func (o *Outbox) each(ctx context.Context, pk string, do func(i item)) error {
	in := &dynamodb.QueryInput{
		TableName: &o.cfg.Table, ConsistentRead: aws.Bool(true),
		KeyConditionExpression: aws.String("pk = :pk"), ExpressionAttributeValues: item{":pk": text(pk)},
	}
	for pages := dynamodb.NewQueryPaginator(o.db, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("leat: look through %s: %w", pk, err)
		}
		for _, i := range page.Items {
			do(i)
		}
	}
	return nil
}

func selected(r *driver.EraseRequest, m *outbox.Record) bool {
	return erase.Matches(r, m.ID, m.Topic, m.Key, func() map[string]string { return m.Headers })
}

func (o *Outbox) findPending(ctx context.Context, r *driver.EraseRequest, found *driver.Erased) (all []outbox.Record, err error) {
	for b := range maxBuckets { // every bucket that can exist, as relays do
		err := o.each(ctx, messagesOf(b), func(i item) {
			if m := decode(i); selected(r, &m) {
				m.Payload = nil
				all = append(all, m)
				erase.Add(found, erase.Log, m.ID, m.Topic)
			}
		})
		if err != nil {
			return nil, err
		}
		erase.Walked(r, int64(b+1), maxBuckets)
	}
	return all, nil
}

func (o *Outbox) findHeld(ctx context.Context, group string, r *driver.EraseRequest, found *driver.Erased) (seqs []int64, err error) {
	if group == "" {
		return nil, nil // no relay has begun
	}
	err = o.each(ctx, heldPartition(group), func(i item) {
		m := decode(i)
		if m.Seq == 0 || !selected(r, &m) {
			return
		}
		place := erase.Held
		if row := decodeRow(i, &m); row.State == heldqueue.Dead {
			place = erase.Dead
		}
		seqs = append(seqs, m.Seq)
		erase.Add(found, place, m.ID, m.Topic)
	})
	return seqs, err
}

// findAudited returns the entries about what r selects that contain more than who did what to
// which id.
func (o *Outbox) findAudited(ctx context.Context, r *driver.EraseRequest) (nos []int64, err error) {
	err = o.each(ctx, "A", func(i item) {
		e := auditOf(i)
		if e.Action == "erase" || e.Key == "" && e.Details == nil && e.Reason == erase.Reason {
			return
		}
		if erase.Matches(r, e.ID, e.Topic, e.Key, nil) {
			nos = append(nos, e.No)
		}
	})
	return nos, err
}

func (o *Outbox) eraseAudited(ctx context.Context, nos []int64) error {
	for _, no := range nos {
		_, err := o.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: &o.cfg.Table, Key: at("A", no), ConditionExpression: aws.String("attribute_exists(pk)"),
			UpdateExpression: aws.String("SET re = :re REMOVE k, d"), ExpressionAttributeValues: item{":re": text(erase.Reason)},
		})
		if _, gone := errors.AsType[*types.ConditionalCheckFailedException](err); err != nil && !gone {
			return fmt.Errorf("leat: erase in the audit: %w", err)
		}
	}
	return nil
}

// erasePending deletes messages, each with a note. A message that is gone was sent or set aside
// in the meantime.
func (o *Outbox) erasePending(ctx context.Context, group string, records []outbox.Record, by admin.By) error {
	var items []types.TransactWriteItem
	for i := range records {
		m := &records[i]
		note := heldqueue.EraseNote(erase.Log, m.Seq, m.ID, m.Topic, by)
		items = append(items, types.TransactWriteItem{Delete: &types.Delete{
			TableName: &o.cfg.Table, Key: messageAt(m.Seq), ConditionExpression: aws.String("attribute_exists(pk)"),
		}}, o.auditPut(group, &note))
	}
	err := o.transact(ctx, items)
	if _, refused := errors.AsType[*cancelled](err); !refused {
		return err
	}
	if len(records) == 1 {
		return nil
	}
	for i := range records {
		if err := o.erasePending(ctx, group, records[i:i+1], by); err != nil {
			return err
		}
	}
	return nil
}

// findCounters returns the counters of the key that r selects.
func (o *Outbox) findCounters(ctx context.Context, r *driver.EraseRequest, found *driver.Erased) (all []item, err error) {
	if r.Key == "" {
		return nil, nil
	}
	for topic := range found.Topics { // a long name is stored only as a hash
		i, err := o.get(ctx, counterAt(driver.Key{Topic: topic, Key: r.Key}))
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(textOf(i, partition), "S#") {
			all = append(all, i)
		}
	}
	in := &dynamodb.ScanInput{
		TableName: &o.cfg.Table, ConsistentRead: aws.Bool(true), ProjectionExpression: aws.String("pk, sk, n"),
		FilterExpression:          aws.String("begins_with(pk, :counter) AND contains(pk, :key)"),
		ExpressionAttributeValues: item{":counter": text("C#"), ":key": text("\x00" + r.Key)},
	}
	for pages := dynamodb.NewScanPaginator(o.db, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("leat: look for counters: %w", err)
		}
		for _, i := range page.Items {
			topic, key, _ := strings.Cut(strings.TrimPrefix(textOf(i, partition), "C#"), "\x00")
			if erase.Matches(&driver.EraseRequest{Key: r.Key, Topic: r.Topic}, "", topic, key, nil) {
				all = append(all, i)
			}
		}
	}
	return all, nil
}

// eraseCounters deletes counters. The next message of the key starts a new counter. That keeps
// the order once the messages before it are gone, so a counter whose last message is pending
// stays, and so does one that has moved.
func (o *Outbox) eraseCounters(ctx context.Context, counters []item) error {
	for _, i := range counters {
		last := numberOf(i, attrCounter)
		err := o.transact(ctx, []types.TransactWriteItem{
			{Delete: &types.Delete{
				TableName: &o.cfg.Table, Key: item{partition: i[partition], sorting: i[sorting]},
				ConditionExpression: aws.String("n = :n"), ExpressionAttributeValues: item{":n": number(last)},
			}},
			{ConditionCheck: &types.ConditionCheck{
				TableName: &o.cfg.Table, Key: messageAt(last), ConditionExpression: aws.String("attribute_not_exists(pk)"),
			}},
		})
		if _, refused := errors.AsType[*cancelled](err); err != nil && !refused {
			return err
		}
	}
	return nil
}
