#!/usr/bin/env ruby
# frozen_string_literal: true

# Sidekiq as a contestant of the benches: it reads an order from its input and writes a report, as package part of ../part does, for the
# measures that it knows. Its own launcher runs the jobs, with its fetcher, which takes a job out of Redis before it runs.

require "json"
require "sidekiq"
require "sidekiq/launcher"

Redis.silence_deprecations = true # a line for each job would be what is measured
$stdout.sync = true
ORDER = JSON.parse($stdin.gets)
LENGTH = ORDER["For"] / 1e9
BLOCK = 1000

# Job does nothing, and is told of.
class Job
  include Sidekiq::Worker
  sidekiq_options retry: false

  class << self
    attr_accessor :run
  end

  def perform(number)
    Job.run.call(number)
  end
end

def now
  Process.clock_gettime(Process::CLOCK_REALTIME)
end

# connect gives this process a pool of connections of its own.
def connect(size)
  Sidekiq.logger.level = Logger::WARN
  Sidekiq.redis = { url: ORDER["URL"], size: size + 5 }
end

# launch starts the threads that run jobs.
def launch(threads)
  connect(threads)
  Sidekiq.options[:queues] = ["default"]
  Sidekiq.options[:concurrency] = threads
  Sidekiq.options[:timeout] = 1
  launcher = Sidekiq::Launcher.new(Sidekiq.options)
  launcher.run
  launcher
end

def bulk(count)
  (0...count).each_slice(BLOCK) { |slice| Sidekiq::Client.push_bulk("class" => Job, "args" => slice.map { |n| [n] }) }
end

# server_cpu is the CPU time of the server in seconds; nil if it cannot be told.
def server_cpu
  fields = File.read("/proc/#{ORDER["Server"]}/stat").split(") ").last.split
  (fields[11].to_i + fields[12].to_i) / 100.0
rescue SystemCallError
  nil
end

# measured reports what the block did, by the CPU times around it. The block returns how many tasks it was, and the figures.
def measured
  server = server_cpu
  own = Process.times
  tasks, values = yield
  used = Process.times
  per = ->(seconds) { tasks.positive? ? seconds * 1e6 / tasks : -1 }
  {
    Values: values, Tasks: tasks, CPU: per.call(used.utime + used.stime + used.cutime + used.cstime - own.utime - own.stime - own.cutime - own.cstime),
    ServerCPU: server ? per.call(server_cpu - server) : -1
  }
end

# submit lets threads store one job after the other.
def submit
  connect(ORDER["Goroutines"])
  50.times { Job.perform_async(0) }
  measured do
    begun = now
    counts = Array.new(ORDER["Goroutines"]) do
      Thread.new do
        n = 0
        while now - begun < LENGTH
          Job.perform_async(n)
          n += 1
        end
        n
      end
    end.map(&:value)
    [counts.sum, { rate: counts.sum / (now - begun) }]
  end
end

# many stores jobs by the call for many.
def many
  connect(1)
  bulk(10)
  measured do
    begun = now
    n = 0
    while now - begun < LENGTH
      bulk(BLOCK)
      n += BLOCK
    end
    [n, { rate: n / (now - begun) }]
  end
end

# worker runs jobs in a process of its own until its input ends, and then says how many it ran, and when the first and the last.
def worker(threads)
  input, stop = IO.pipe
  answer, output = IO.pipe
  fork do
    stop.close
    count = 0
    first = last = 0
    lock = Mutex.new
    Job.run = lambda do |_|
      lock.synchronize do
        last = now
        first = last if count.zero?
        count += 1
      end
    end
    launch(threads).tap do |launcher|
      input.read
      launcher.quiet
    end
    output.puts JSON.generate([count, first, last])
    output.close
    exit!(0)
  end
  output.close
  input.close
  [stop, answer]
end

# drain runs jobs that are all there when it begins.
def drain
  connect(1)
  bulk(ORDER["Tasks"])
  processes, threads = ORDER["Setting"] == "best" ? [2, 5] : [1, 10]
  measured do
    workers = Array.new(processes) { worker(threads) }
    begun = now
    sleep 0.01 while now - begun < LENGTH && Sidekiq.redis { |c| c.llen("queue:default") }.positive?
    workers.each { |stop, _| stop.close }
    ran = workers.map { |_, answer| JSON.parse(answer.read) }
    Process.waitall
    ran.reject! { |count, _, _| count.zero? }
    raise "no jobs ran" if ran.empty?

    tasks = ran.sum(&:first)
    [tasks, { rate: (tasks - 1) / (ran.map(&:last).max - ran.map { |r| r[1] }.min) }]
  end
end

# hold runs jobs that do not end, and says so of each that begins, until its input ends or it is killed.
def hold
  Job.run = lambda do |number|
    puts "run #{number}"
    sleep
  end
  launch(ORDER["Slots"])
  $stdin.read
  exit!(0)
end

def fill
  connect(1)
  bulk(ORDER["Tasks"])
  { Values: {}, Tasks: ORDER["Tasks"], CPU: -1, ServerCPU: -1 }
end

MEASURES = { "submit" => :submit, "bulk" => :many, "fill" => :fill, "drain" => :drain, "hold" => :hold }.freeze

begin
  raise "no measure is called #{ORDER["Bench"]}" unless MEASURES.key?(ORDER["Bench"])

  puts JSON.generate(send(MEASURES[ORDER["Bench"]]))
rescue StandardError => e
  puts JSON.generate({ Error: "#{e.class}: #{e.message}" })
  exit!(1)
end
