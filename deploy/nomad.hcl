# A control plane and three machines, one on a client. Needs Consul's DNS on the clients, a host volume
# "playwright-pool", seccomp.json in /etc/nomad.d of each client, and max_kill_timeout = "11m" in its configuration.
#   nomad var put nomad/jobs/playwright-pool api_key="$(openssl rand -hex 32)"
#   nomad job run nomad.hcl

variable "image" {
  type    = string
  default = "playwright-pool:0.1.0"
}

job "playwright-pool" {
  group "control-plane" {
    network {
      port "http" {
        static = 8080
        to     = 8080
      }
    }

    service {
      name = "playwright-pool"
      port = "http"
      check {
        type     = "http"
        path     = "/healthz"
        interval = "10s"
        timeout  = "5s"
      }
    }

    volume "data" {
      type   = "host"
      source = "playwright-pool"
    }

    task "control-plane" {
      driver      = "docker"
      kill_signal = "SIGTERM"

      config {
        image = var.image
        ports = ["http"]
      }

      volume_mount {
        volume      = "data"
        destination = "/data"
      }

      env {
        PLAYWRIGHT_POOL_MACHINES   = "dns://playwright-pool-machine.service.consul:8081"
        PLAYWRIGHT_POOL_PUBLIC_URL = "http://playwright-pool.service.consul:8080"
      }

      template {
        data        = "PLAYWRIGHT_POOL_API_KEY={{ with nomadVar \"nomad/jobs/playwright-pool\" }}{{ .api_key }}{{ end }}"
        destination = "secrets/key.env"
        env         = true
      }

      resources {
        cpu    = 1000
        memory = 1024
      }
    }
  }

  group "machine" {
    count = 3

    # One machine at a time, so that an update keeps most of the capacity.
    update {
      max_parallel = 1
    }

    # Demand is the number of leased browsers and waiting acquires. 3 of the 4 sessions of a machine, so that a quarter
    # stays free.
    scaling {
      min = 1
      max = 20
      policy {
        evaluation_interval = "15s"
        cooldown            = "2m"
        check "demand" {
          source = "prometheus"
          query  = "ceil(sum(playwright_pool_demand{job=\"playwright-pool\"}) / 3)"
          strategy "pass-through" {}
        }
      }
    }

    # A name has addresses only, so each machine has the same port.
    network {
      port "http" {
        static = 8081
        to     = 8080
      }
    }

    service {
      name = "playwright-pool-machine"
      port = "http"
      check {
        type     = "http"
        path     = "/healthz"
        interval = "10s"
        timeout  = "5s"
      }
    }

    task "machine" {
      driver = "docker"
      # The drain. Nomad's own default, SIGINT for some drivers, would end the tests at once.
      kill_signal  = "SIGTERM"
      kill_timeout = "630s"

      config {
        image        = var.image
        ports        = ["http"]
        security_opt = ["no-new-privileges:true", "seccomp=/etc/nomad.d/seccomp.json"]
      }

      env {
        PLAYWRIGHT_POOL_MAX_SESSIONS  = "4"
        PLAYWRIGHT_POOL_DRAIN_TIMEOUT = "600"
      }

      template {
        data        = "PLAYWRIGHT_POOL_API_KEY={{ with nomadVar \"nomad/jobs/playwright-pool\" }}{{ .api_key }}{{ end }}"
        destination = "secrets/key.env"
        env         = true
      }

      resources {
        cpu    = 4000
        memory = 3072
      }
    }
  }
}
