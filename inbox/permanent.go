package inbox

import "github.com/leat-go/leat/inbox/driver"

// Permanent marks err as one that no further attempt will mend, such as a payload
// that cannot be read. The message is given up at once: what becomes of it is
// Config.OnFailure's Action. With Block, which gives nothing up, it changes
// nothing. The result wraps err; it is nil if err is.
func Permanent(err error) error {
	return driver.Permanent(err)
}
