UPDATE @{_retention} SET mode = $1, cutover = $2, legacy = $3, width = $4
