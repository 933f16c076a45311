package wmenvelope

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/leat-go/leat/outbox"
)

// outOfBounds returns why msg could not be set aside if it failed. Such a message would end the
// relay again and again. The bounds are the outbox's own.
func outOfBounds(msg *outbox.Message) error {
	for _, f := range []struct {
		name, value string
		most        int
	}{
		{"id", msg.ID, outbox.MaxIDBytes},
		{"topic", msg.Topic, outbox.MaxTopicBytes},
		{"key", msg.Key, outbox.MaxKeyBytes},
	} {
		switch {
		case len(f.value) > f.most:
			return fmt.Errorf("leat: the %s is longer than %d bytes", f.name, f.most)
		case !utf8.ValidString(f.value):
			return fmt.Errorf("leat: the %s %.200q is not valid UTF-8", f.name, f.value)
		case strings.IndexByte(f.value, 0) >= 0:
			return fmt.Errorf("leat: the %s %.200q contains a NUL byte", f.name, f.value)
		}
	}
	return nil
}
