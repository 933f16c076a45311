package dynamodedupe

import (
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	smithy "github.com/aws/smithy-go/middleware"
)

// grain is how far a time from DynamoDB may be behind: it has whole seconds, and each answer may come from
// another server.
const grain = 2 * time.Second

var errNoDate = errors.New("the answer has no Date, so that leases have no clock")

// clock is the estimate of DynamoDB's time.
type clock struct {
	date        time.Time // the Date of an answer
	asked, told time.Time // when the answer was asked for and when it came, by this process's monotonic clock
}

func clockOf(answer smithy.Metadata, asked time.Time) (clock, error) {
	date, ok := middleware.GetServerTime(answer)
	if !ok {
		return clock{}, errNoDate
	}
	return clock{date, asked, time.Now()}, nil
}

// earliest returns the earliest time that it may be at DynamoDB now.
func (c clock) earliest() time.Time { return c.date.Add(time.Since(c.told)) }

// spread returns how much later than earliest it may be there.
func (c clock) spread() time.Duration { return c.told.Sub(c.asked) + grain }
