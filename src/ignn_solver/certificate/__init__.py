"""Certificates: how far each node can be from the exact equilibrium, and whose class is proven."""

from .certify import Certificate, Certifier, certify
from .factor import Factor, measured_factor
from .heads import HeadBound, Margins, margins
from .layers import head_lipschitz
from .pooling import pooled_bound
from .stopping import CertifiedStop, is_certified

__all__ = [
    "Certificate",
    "CertifiedStop",
    "Certifier",
    "Factor",
    "HeadBound",
    "Margins",
    "certify",
    "head_lipschitz",
    "is_certified",
    "margins",
    "measured_factor",
    "pooled_bound",
]
