SELECT events FROM counters WHERE repository = $1
