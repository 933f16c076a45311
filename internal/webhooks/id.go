package webhooks

import (
	"strings"

	"github.com/leat-go/leat/internal/ids"
)

// IDOf returns the id of a webhook for a message called id. It is id itself, unless HTTP
// would change it, or it has a full stop: the specification forbids that, since a part of
// such an id could pass for a timestamp. Then it is the UUID by which inboxes remember
// id, so that a consumer knows the message under both.
func IDOf(id string) string {
	if isPlainValue(id) && !strings.ContainsAny(id, ". ,") {
		return id
	}
	stored, _ := ids.Map(id)
	return ids.Text(stored)
}
