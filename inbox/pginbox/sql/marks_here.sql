-- For the first message of a group with marks on each connection: the history that it leads to.
SELECT {history} WHERE @{primary}
