package wmoutbox

var (
	ErrPublishOnly       = errPublishOnly
	ErrMixedTransactions = errMixedTransactions
)
