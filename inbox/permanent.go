package inbox

import "github.com/leat-go/leat/inbox/driver"

// Permanent marks err as an error that no further attempt can repair, such as a payload
// that cannot be read. The message is given up at once, as Config.OnFailure's Action
// says. With Block, which gives nothing up, it changes nothing. The result wraps err; it
// is nil if err is nil.
func Permanent(err error) error {
	return driver.Permanent(err)
}
