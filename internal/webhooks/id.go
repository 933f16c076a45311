package webhooks

import (
	"strings"

	"github.com/leat-go/leat/internal/ids"
)

// IDOf returns the id of a webhook for a message called id. That is id itself, unless HTTP would
// change it or it contains a full stop. The specification forbids full stops, since a part of such
// an id could pass for a timestamp. Otherwise it is the UUID by which inboxes remember id, so that
// a consumer recognizes the message under both.
func IDOf(id string) string {
	if isPlainValue(id) && !strings.ContainsAny(id, ". ,") {
		return id
	}
	stored, _ := ids.Map(id)
	return ids.Text(stored)
}
