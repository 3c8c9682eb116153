package sim

// What must hold. The list came first; the checks follow it. "claim", "complete", … name the applied call of the store at
// which a sentence is checked (by the witness, against a shadow that is kept from arguments and results alone); "scan" is
// a walk over an Export, after every applied mutating call in one seed of eight and after some of them in the others; "end"
// is after the healing phase.
//
//	I1   a task whose submit was answered OK is there until it has ended and expired            scan, end
//	I2   one id is one task: a repeated submit never makes a second                             submit
//	I3   epochs grow by one with each claim; a task that is owned is given to nobody else       claim
//	I4   a write under a fence is applied if and only if that fence is held; a task runs in
//	     the store if and only if the shadow knows its owner                                    complete, save, stage, scan
//	I5   terminal is for ever, save for Retry: state and time of ending stand                   claim, complete, scan
//	I6   Recover moves only tasks of workers that are dead or left, or of stuck runs            recover
//	I7   proof is given only against processes that are gone; nobody who runs, is not paused
//	     and was not kept from the store by what hit it alone throughout the time that counts
//	     is declared dead (robbed_live): an outage for all excuses only one whose own session
//	     was lost in it; nobody who was declared dead claims                                    recover, claim
//	I8   after faults stop everything that was submitted ends within a bound of virtual time    end
//	I9   tasks of a process killed among healthy ones are put back within the bound of the
//	     evidence: proof, gone, silence                                                         end (the last kill)
//	I10  attempts = outcomes retry and fail that were applied, plus stuck runs; a crash spends
//	     none; crashes are counted for proof and gone, for silence only without evidence,
//	     never for those that left; nothing ends as crashed for the poison of another, or
//	     before its third crash; poison costs four
//	     workers at most                                                                        claim, recover, scan, end
//	I11  a drained process holds nothing, has spent no attempt and no crash by draining, and
//	     Run has returned in time with all that it started                                      drain
//	I12  nothing is removed that has not ended and expired                                      scan
//	I13  OnEnd comes exactly once per round of an ended task, OnClose exactly once per
//	     generation of a closed group; follow-ups are there when their outcome is               scan, end
//	I22  nothing that is not terminal has an expiry                                             scan
//	I23  slots in use = running tasks of the limit, never more than its N; a unique key has at
//	     most one holder and no holder that let go; starts keep within the rates                claim, scan
//	I24  an ordered lane runs one at a time, oldest id first                                    claim, scan
//	I25  a tick is submitted once, in order, never before its time                              tick
//	I30  nothing is left running after Run and Close; while faults go on, what Close has just
//	     cut short may take the same instant to end                                             drain, end
//	I31  every call of the store carries a deadline                                             every call
//	I32  a run whose task was given to another while its process ran on has had its context
//	     ended before, unless only its session was gone, its clock has jumped, or it went on
//	     after a pause less than 100 ms ago                                                     claim
//	K1   the outcome that is written is what the handler said: an error is retry or fail, done
//	     is done; a run that was cut short by drain or by losing its task spends no attempt     complete
//	K2   a checkpoint entry whose Save was answered OK is seen by every later run               load
//	K3   a parked task is woken by what it waits for: message, group, child (part of I8); a
//	     message is seen until its use was recorded, and not after                              run, end
//	K4   a handler never runs twice at once in one process under one fence                      run
//	K5   the kernel does not panic                                                              always
//	K6   Wait returns ended tasks only; an operator among the healthy is told no errors but
//	     those that the state of a task explains                                                client, end
//	S1   a saga has on record what its steps did, in their order                                client
//	C1   one outcome of a request is told to its callback, the one that is on record            end
//	C2   a server is told one id and one key for one request, however often it is sent          end
//	C3   what must not be sent twice reaches its server once at most                            end
//	B1   Done comes for each generation of a batch, and is told how it ended                    client, end
//	B2   the counts of a batch are those of its rows, all of which have ended                   client, end
//	B3   an output file has the line of each row that was processed, once, in their order       client
//	B4   a row runs again only for what has gone wrong                                          end
//	T1   each tick of a schedule has one task, also of those that nobody was there to drive     end
//	T2   its job runs again only for what has gone wrong                                        end
//	P1   a payload outside its record is read as it was put, as long as its record is there     run, client, end
//	P2   a blob whose record is gone is gone after the sweep                                    end
//	D1   a worker that is asked to stop costs its tasks nothing: they end, here or elsewhere    end
//	D2   a worker that is quiet claims no more                                                  claim
//	E1   a request that was accepted is known under its id, and its end is told                 client, end
//	E2   requests under one key are one task                                                    end
//	E3   the function of an endpoint runs again only for what has gone wrong                    end
//	FSCK the records agree with each other (package store/fsck)                                 scan
//	SIM  the simulation itself is sound                                                         always
