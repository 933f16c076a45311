package dynamodedupe

import (
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	smithy "github.com/aws/smithy-go/middleware"
)

// grain is what a time of DynamoDB's may be behind: it has whole seconds, and another server
// answers each time.
const grain = 2 * time.Second

var errNoDate = errors.New("the answer has no Date, so that leases have no clock")

// clock is what is known of DynamoDB's time.
type clock struct {
	date        time.Time // of an answer
	asked, told time.Time // when it was asked for and there, by this process's monotonic clock
}

func clockOf(answer smithy.Metadata, asked time.Time) (clock, error) {
	date, ok := middleware.GetServerTime(answer)
	if !ok {
		return clock{}, errNoDate
	}
	return clock{date, asked, time.Now()}, nil
}

// earliest is the time that has come for certain.
func (c clock) earliest() time.Time { return c.date.Add(time.Since(c.told)) }

// spread is by how much it may be later.
func (c clock) spread() time.Duration { return c.told.Sub(c.asked) + grain }
