package dynamooutbox

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/leat-go/leat/outbox/driver"
)

var _ driver.OutageKeeper = (*session)(nil)

// KeepOutages implements driver.OutageKeeper, with one item. A session whose lease is lost may
// still write it, but with an epoch that readers ignore.
func (s *session) KeepOutages(ctx context.Context, all []driver.Outage) error {
	if err := s.alive(ctx); err != nil {
		return err
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return err
	}
	put := at("O", 0)
	put["ep"], put["out"] = number(s.epoch), text(string(raw))
	if _, err = s.ob.db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.ob.cfg.Table, Item: put}); err != nil {
		err = fmt.Errorf("leat: write what is out: %w", err)
	}
	return err
}

// outages returns the outages that the holder of l has stored.
func (o *Outbox) outages(ctx context.Context, l lease, waiting func(topic string) int) ([]driver.Outage, error) {
	i, err := o.get(ctx, at("O", 0))
	if err != nil || i == nil || numberOf(i, "ep") != l.epoch {
		return nil, err
	}
	var all []driver.Outage
	if err := json.Unmarshal([]byte(textOf(i, "out")), &all); err != nil {
		return nil, fmt.Errorf("leat: read what is out: %w", err)
	}
	for i := range all {
		all[i].Waiting = waiting(all[i].Topic)
	}
	return all, nil
}
