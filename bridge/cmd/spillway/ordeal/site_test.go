package ordeal

const config = `version: 1
state_dir: {{.State}}
socket: {{.Socket}}
policy: {{.Policy}}
clusters:
  - name: {{.Name}}
    slurm:
      bin_dir: {{.Bin}}
      munge_key_file: {{.MungeKey}}
      controllers: ["{{.Controller}}"]
clouds:
  - name: stratus
    local: {url: {{.URL}}, token_file: {{.Token}}}
enrol: {listen: "{{.Enrol}}"}
limits: {list_every: 1s, offers_every: 10s, pool_down: 2s, pool_most: 4s, retry: 500ms, retry_most: 2s, reserve: 3s, absent_gap: 2s, orphan_age: 10s, breaker: {vanish_most: 100}}
`

const policy = `version: 1
organisation: test
currency: USD
mode: burst
zone: UTC
roles: {admins: [root], approvers: [root]}
accounts: [{account: "*", to: research/vision}]
defaults: {most: 40, idle: 1s, life: 15m, wait: 1s}
rules:
  - name: all but those that fill the local nodes
    when: job.name != "block"
    class: P1
budgets: [{account: test/research/vision, every: day, limit: 100000 USD, approvers: [root]}]
`

const world = `version: 1
seed: 7
clouds:
  - name: stratus
    currency: USD
    notice: 20s
    boot: 1s
    billing: {step: 1s, minimum: 1s}
    limits: 20
    accounts: [{name: test}]
    types: [{name: s.gpu8, cpus: 8, memory_mib: 64000, disk_mib: 200000, gpu_type: a100, gpus: 8, features: [a100]}]
    regions:
      - name: north
        zones:
          - {name: north-1, pools: [{type: s.gpu8, on_demand: {rate: "27.20", stock: 20}}]}
`
