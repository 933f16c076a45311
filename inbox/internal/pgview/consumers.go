package pgview

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/pgpin"
)

// countUpTo is how many ids of a consumer in a table are counted; more are estimated.
const countUpTo = 10_000

// ahead is how far the times in ids may be ahead of the clock to count as activity.
const ahead = time.Hour

// Consumers lists the consumers, by name.
func (v *View) Consumers(ctx context.Context, q admin.ConsumersQuery) (all []admin.Consumer, err error) {
	if err = admin.Complete(&q); err != nil {
		return nil, err
	}
	err = v.base.Use(ctx, "", func(conn *pgx.Conn, _ pgclaim.Asked) error {
		numbers, listed, err := v.listed(ctx, conn, q)
		if err != nil {
			return err
		}
		for i := range listed {
			if err := v.remembered(ctx, conn, numbers[i], &listed[i]); err != nil {
				return err
			}
		}
		all = listed
		return nil
	})
	return all, err
}

func (v *View) listed(ctx context.Context, conn *pgx.Conn, q admin.ConsumersQuery) (numbers []int16, all []admin.Consumer, err error) {
	rows, err := pgpin.On{DB: conn}.Query(ctx, v.sql["consumers"], q.After, q.Limit)
	if err != nil {
		return nil, nil, err
	}
	all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (c admin.Consumer, err error) {
		var number int16
		var activity *time.Time
		err = row.Scan(&number, &c.Name, &c.Since, &c.Partitions, &c.Parked, &c.Redriving, &c.Waiting, &c.Failing, &activity)
		numbers = append(numbers, number)
		c.Since, c.LastActivity = c.Since.UTC(), orZero(activity)
		return c, err
	})
	return numbers, all, err
}

// remembered adds the number of a consumer's ids and their latest time. It counts ids only up to
// a bound, so that it takes milliseconds whatever the size of the inbox.
func (v *View) remembered(ctx context.Context, conn *pgx.Conn, number int16, c *admin.Consumer) error {
	var plain, ranged int64
	var newest [2]pgtype.UUID
	latest := pgtype.UUID{Bytes: ids.FromMillis(time.Now().Add(ahead).UnixMilli()), Valid: true}
	err := pgpin.On{DB: conn}.QueryRow(ctx, v.sql["remembered"], number, countUpTo+1, latest).Scan(&plain, &ranged, &newest[0], &newest[1])
	if err != nil {
		return err
	}
	for statement, n := range map[string]int64{"estimate": plain, "estimate_ranges": ranged} {
		if n > countUpTo {
			c.Estimated = true
			if n, err = estimate(ctx, conn, v.sql[statement], number); err != nil {
				return err
			}
		}
		c.Remembered += n
	}
	for _, id := range newest {
		if at, ok := ids.Time(id.Bytes); id.Valid && ok && at.After(c.LastActivity) {
			c.LastActivity = at.UTC()
		}
	}
	return nil
}

// estimate asks the planner for the number of a consumer's ids in a table.
func estimate(ctx context.Context, conn *pgx.Conn, statement string, number int16) (int64, error) {
	var text string
	if err := (pgpin.On{DB: conn}).QueryRow(ctx, statement, number).Scan(&text); err != nil {
		return 0, err
	}
	var plans []struct {
		Plan struct {
			Rows float64 `json:"Plan Rows"`
		}
	}
	err := json.Unmarshal([]byte(text), &plans)
	if err == nil && len(plans) != 1 {
		err = errors.New("no single plan")
	}
	if err != nil {
		return 0, fmt.Errorf("leat: the database explains a statement as %.200q: %w", text, err)
	}
	return max(int64(plans[0].Plan.Rows), countUpTo), nil
}
