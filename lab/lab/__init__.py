# SPDX-License-Identifier: MIT
"""Hosts in network namespaces, and a fleet of Fairlead made of them. Reading order: host, fleet, load."""
