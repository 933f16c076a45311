package wmoutbox

import "errors"

// errMixedTransactions is returned when the messages of one Publish carry different transactions:
// they could not be stored all or none.
var errMixedTransactions = errors.New("leat: the messages of one batch carry different transactions")
