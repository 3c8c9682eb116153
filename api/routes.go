package api

import (
	"net/http"

	"github.com/outlast-go/outlast/kernel"
)

// routes is the table of all that the API does.
func routes() []route {
	var all []route
	for _, part := range [][]route{infoRoutes(), taskRoutes(), workRoutes(), callRoutes(), groupRoutes(), sagaRoutes(), batchRoutes(), operateRoutes()} {
		all = append(all, part...)
	}
	return all
}

func infoRoutes() []route {
	return []route{
		texts(plainText, Public, "GET /healthz", "whether the process answers", healthz),
		texts(plainText, Public, "GET /readyz", "whether it can do its work: the store answers, recovery runs, handlers return", readyz).may(503),
		texts(plainText, Read, "GET /metrics", "counters and gauges, as Prometheus reads them", metrics),
		on(Public, "GET /v1/openapi.json", "this document", openAPI),
		on(Read, "GET /v1/info", "what this daemon serves, and how it is", readInfo),
		on(Read, "GET /v1/queues", "what waits in each queue, and its health", listQueues),
		on(Read, "GET /v1/queues/{queue}/lanes", "the lanes of a queue that have ready tasks", listLanes).asks(pageParameters...),
		on(Read, "GET /v1/workers", "the fleet", listWorkers),
		on(Read, "GET /v1/stats", "what happened, minute by minute", readStats).asks(
			parameter{"last", "how far back: 1h by default"}, parameter{"from", "from this time on"}, parameter{"until", "before this time"}),
		streams(Read, "GET /v1/events", "what happens in this daemon, as server-sent events; Last-Event-ID resumes", streamEvents),
	}
}

var waitParameter = parameter{"wait", "wait so long until it has ended: seconds, or a time such as 30s"}

func taskRoutes() []route {
	return []route{
		on(Submit, "POST /v1/tasks", "submit a task; the same id again has no effect", submitTask).gives(http.StatusCreated).may(404, conflict),
		on(Submit, "POST /v1/tasks/batch", "submit many tasks, each by itself", submitMany),
		on(Read, "GET /v1/tasks", "list tasks, newest first", listTasks).asks(filterParameters...).asks(parameter{"oldest", "true: oldest first"}).asks(pageParameters...),
		on(Operate, "POST /v1/tasks/bulk", "retry, cancel, free or delete all tasks that a filter picks, or tell what that would do", bulk),
		on(Read, "GET /v1/tasks/{id}", "one task, with payloads and history", withID(getTask)).asks(waitParameter).may(404),
		streams(Read, "GET /v1/tasks/{id}/events", "each change of a task, as server-sent events; Last-Event-ID resumes", streamTask).may(404),
		on(Operate, "POST /v1/tasks/{id}/retry", "make a failed or cancelled task ready again", withID(act("retry"))).may(404, conflict),
		on(Operate, "POST /v1/tasks/{id}/cancel", "end a task that waits, ask one that runs to end", withID(act("cancel"))).may(404, conflict),
		on(Operate, "POST /v1/tasks/{id}/free", "make a held task ready", withID(act("free"))).may(404, conflict),
		on(Operate, "DELETE /v1/tasks/{id}", "remove a task that has ended", withID(deleteTask)).may(404, conflict),
	}
}

func sagaRoutes() []route {
	return []route{
		on(Read, "GET /v1/sagas/{id}", "how a saga stands: its steps and its timeline", withID(getSaga)).may(404),
		on(Submit, "POST /v1/sagas/{id}/signals/{name}", "send a signal to a saga", withID(sendSignal)).may(404, conflict),
		on(Operate, "POST /v1/sagas/{id}/retry-undo", "let a stuck saga try again to undo a step, or all", withID(orderSaga("retry-undo"))).may(404, conflict),
		on(Operate, "POST /v1/sagas/{id}/resolve", "tell a stuck saga that a step was put right by hand", withID(orderSaga("resolve"))).may(404, conflict),
		on(Operate, "POST /v1/sagas/{id}/skip", "give a held saga the result of a step that cannot be run", withID(orderSaga("skip"))).may(404, conflict),
		on(Operate, "POST /v1/sagas/{id}/release", "let a saga go on that is held because its processes died", withID(orderSaga("release"))).may(404, conflict),
	}
}

func workRoutes() []route {
	return []route{
		on(Work, "POST /v1/workers", "join as a worker", joinWorker).gives(http.StatusCreated),
		on(Work, "POST /v1/workers/{worker}/leave", "leave: what is held goes back without a crash", leaveWorker).may(404),
		on(Work, "POST /v1/workers/{worker}/beat", "say that the worker lives; hear which tasks were asked to end", beatWorker).may(404, conflict),
		on(Work, "POST /v1/workers/{worker}/claim", "take ready tasks, and wait for some", claimTasks).may(404, conflict),
		on(Work, "GET /v1/tasks/{id}/entries", "the checkpoint of a task", withID(readEntries)).may(404),
		on(Work, "POST /v1/tasks/{id}/save", "save checkpoint entries and progress, under the fence", withID(saveTask)).may(404, conflict),
		on(Work, "POST /v1/tasks/{id}/complete", "end a run, under the fence", withID(completeTask)).may(404, conflict),
	}
}

func callRoutes() []route {
	return []route{
		on(Submit, "POST /v1/calls", "send an HTTP request, for certain; its end is told to a URL or a kind", startCall).gives(http.StatusAccepted).may(conflict, http.StatusNotImplemented),
		on(Submit, "GET /v1/calls/{id}", "how a call stands, and its answer once it has one", withID(getCall)).asks(waitParameter).may(404, http.StatusNotImplemented),
	}
}

func groupRoutes() []route {
	return []route{
		on(Submit, "POST /v1/groups", "create a group with its first members", submitGroup).gives(http.StatusCreated).may(conflict),
		on(Read, "GET /v1/groups", "list groups, newest first", listGroups).asks(pageParameters...),
		on(Read, "GET /v1/groups/{id}", "one group", withID(getGroup)).may(404),
		on(Submit, "POST /v1/groups/{id}/seal", "say that all members are there", withID(onGroup(func(q *request, id kernel.ID, _ string) (kernel.Group, error) {
			return q.k.Seal(q, id)
		}))).may(404, conflict),
		on(Operate, "POST /v1/groups/{id}/release", "end the hold of a group", withID(onGroup(func(q *request, id kernel.ID, _ string) (kernel.Group, error) {
			return q.k.Release(q, id)
		}))).may(404, conflict),
		on(Operate, "POST /v1/groups/{id}/abort", "ask all members to end", withID(onGroup(func(q *request, id kernel.ID, reason string) (kernel.Group, error) {
			return q.k.Abort(q, id, reason)
		}))).may(404, conflict),
	}
}

func batchRoutes() []route {
	return []route{
		on(Submit, "POST /v1/batches", "submit a batch: a row per line, CSV with a header or JSON lines, for an operation or for a request each", uploadBatch).
			reads(csvRows, jsonLines).asks(uploadParameters...).gives(http.StatusCreated).may(conflict, http.StatusNotImplemented),
		on(Read, "GET /v1/batches", "list batches, newest first", listBatches).asks(
			parameter{"app", "only those of this app"}, parameter{"op", "only those of this operation"}, parameter{"after", "submitted after this time"},
			parameter{"before", "submitted before this time: of the page before"}, pageParameters[1]),
		on(Read, "GET /v1/batches/{id}", "how a batch stands: its counts, and how it ended", onBatch(getBatch)).asks(waitParameter).may(404),
		on(Read, "GET /v1/batches/{id}/rows", "its rows, by line: inputs, results, errors", onBatch(listRows)).
			asks(parameter{"state", "one or more of queued, inprog, success, failed, aborted, with commas between them"}).asks(pageParameters...).may(404),
		on(Read, "GET /v1/batches/{id}/files", "its output files, once it has ended", onBatch(listFiles)).may(404),
		texts(binary, Read, "GET /v1/batches/{id}/files/{file}", "one output file", fetchFile).may(404),
		on(Operate, "POST /v1/batches/{id}/release", "let a batch run that was held", onBatch(releaseBatch)).may(404, conflict),
		on(Operate, "POST /v1/batches/{id}/abort", "end a batch: rows that wait end now, those that run are told", onBatch(abortBatch)).may(404, conflict),
		on(Operate, "POST /v1/batches/{id}/retry", "make its failed rows ready again; the others stay as they are", onBatch(retryBatch)).may(404, conflict),
	}
}

func operateRoutes() []route {
	return []route{
		on(Read, "GET /v1/pauses", "the pauses that stand", listPauses),
		on(Operate, "POST /v1/pauses", "keep claims away from a queue, a kind or a lane", putPause),
		on(Operate, "DELETE /v1/pauses", "end the pause of exactly this scope", resume).asks(
			parameter{"queue", "as it was paused"}, parameter{"kind", "as it was paused"}, parameter{"lane", "as it was paused"}),
		on(Operate, "PUT /v1/queues/{queue}/weights", "how many tasks the lanes of a key give in a turn", putWeight),
		on(Read, "GET /v1/limits", "limits and their use", listLimits),
		on(Operate, "PUT /v1/limits", "set a limit; without bounds it is removed", putLimit),
		on(Read, "GET /v1/schedules", "schedules, by name", listSchedules).asks(pageParameters...),
		on(Read, "GET /v1/schedules/{name}", "one schedule", getSchedule).may(404),
		on(Operate, "PUT /v1/schedules/{name}", "create a schedule, or replace the version that it names", putSchedule).may(conflict),
		on(Operate, "POST /v1/schedules/{name}/pause", "let a schedule submit nothing until it is resumed", pauseSchedule(true)).may(404),
		on(Operate, "POST /v1/schedules/{name}/resume", "let a paused schedule go on from its next tick", pauseSchedule(false)).may(404),
		on(Operate, "DELETE /v1/schedules/{name}", "remove a schedule; its tasks stay", deleteSchedule),
	}
}
