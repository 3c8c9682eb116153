module github.com/outlast-go/outlast/bench/part

go 1.26.8
