package pgwatermark

import "github.com/leat-go/leat/inbox/internal/pgclaim"

// ErrOtherInbox is returned by Assigned for a consumer that is used with an inbox of
// ids as well: neither knows what the other has processed.
var ErrOtherInbox = pgclaim.ErrOtherInbox
