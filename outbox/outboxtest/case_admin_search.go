package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

func searchFinds(ctx context.Context, tr *trial) error {
	searcher, ok := tr.Subject.(admin.Searcher)
	if !ok {
		return nil
	}
	msgs := slices.Concat(keyed("k", "a", "b"), keyed("l", "c"), named("d"))
	msgs[1].Type, msgs[2].Type = "placed", "paid"
	msgs[3].Topic = "mails"
	if err := tr.commit(ctx, msgs...); err != nil {
		return err
	}
	open, err := tr.open(ctx, named("not committed")...)
	if err != nil {
		return err
	}
	defer func() { _ = open.Rollback(context.WithoutCancel(ctx)) }()
	for _, c := range []struct {
		query admin.MessageQuery
		want  string
	}{
		{admin.MessageQuery{}, "a b c d"},
		{admin.MessageQuery{Topic: testTopic}, "a b c"},
		{admin.MessageQuery{Topic: "m*"}, "d"},
		{admin.MessageQuery{Key: "k"}, "a b"},
		{admin.MessageQuery{Type: "p*d"}, "b c"},
		{admin.MessageQuery{Type: "*"}, "a b c d"},
		{admin.MessageQuery{Key: "k", Type: "paid"}, ""},
		{admin.MessageQuery{From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour)}, "a b c d"},
		{admin.MessageQuery{To: time.Now().Add(-time.Hour)}, ""},
		{admin.MessageQuery{From: time.Now().Add(time.Hour)}, ""},
	} {
		for _, newest := range []bool{false, true} {
			for _, limit := range []int{1, 3, 100} {
				for _, scan := range []int{1, 2, 1000} {
					q := c.query
					q.Newest, q.Limit, q.Scan = newest, limit, scan
					got, err := searchAll(ctx, searcher, q)
					if newest {
						slices.Reverse(got)
					}
					if err == nil {
						err = expect(got, strings.Fields(c.want)...)
					}
					if err != nil {
						return fmt.Errorf("search %+v: %w", q, err)
					}
				}
			}
		}
	}
	bare, err := searchAll(ctx, searcher, admin.MessageQuery{Key: "l", OmitPayload: true})
	if err != nil || len(bare) != 1 || len(bare[0].Payload) > 0 || bare[0].ID == "" || bare[0].Type != "paid" {
		return fmt.Errorf("search without payloads: %+v: %w", bare, errors.Join(err, errWrongAnswer))
	}
	for _, q := range []admin.MessageQuery{{Limit: -1}, {Scan: -1}, {After: -1}, {Topic: "\xff"}} {
		if _, err := searcher.Search(ctx, q); !errors.Is(err, admin.ErrInvalidRequest) {
			return unexpected(fmt.Sprintf("search %+v", q), err, admin.ErrInvalidRequest)
		}
	}
	return nil
}

// searchAll pages through what q selects.
func searchAll(ctx context.Context, searcher admin.Searcher, q admin.MessageQuery) ([]outbox.Record, error) {
	var all []outbox.Record
	for range mostRecords {
		page, err := searcher.Search(ctx, q)
		all = append(all, page.Records...)
		if err != nil || page.Next == 0 {
			return all, err
		}
		q.After = page.Next
	}
	return nil, errNoEnd
}
