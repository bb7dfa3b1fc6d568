//! Asks a cloud's metadata service, over plain HTTP on a link of the machine itself.

use crate::error::ShelterError;
use loadline_shelter::config::{Cloud, NoticeSource};
use loadline_shelter::notice::{ANSWER_BYTES_MAX, CloudNotice, MetadataAnswer, MetadataRequest, NoticeError};
use std::io::{self, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

/// How long an answer may take. Azure's first one takes up to two minutes.
const ANSWER_TIME: Duration = Duration::from_secs(120);
const CONNECT_TIME: Duration = Duration::from_secs(5);

/// Listens for notices of one cloud.
#[derive(Debug)]
pub(crate) struct MetadataClient {
    source: NoticeSource,
    token: Option<String>,
}

impl MetadataClient {
    pub(crate) fn new(source: NoticeSource) -> Self {
        Self { source, token: None }
    }

    pub(crate) fn cloud(&self) -> Cloud {
        self.source.cloud
    }

    /// The notices of now.
    pub(crate) fn poll(&mut self) -> Result<Vec<CloudNotice>, ShelterError> {
        if self.source.cloud == Cloud::Aws && self.token.is_none() {
            let answer = self.ask(&MetadataRequest::aws_token())?;
            self.token = Some(answer.text().map_err(|error| self.wrap(error))?.trim().to_owned());
        }
        let answer = self.ask(&MetadataRequest::poll(self.source.cloud, self.token.as_deref()))?;
        let notices = answer.notices(self.source.cloud);
        if notices == Err(NoticeError::Status(401)) {
            // The token is too old: the next poll takes a new one.
            self.token = None;
        }
        notices.map_err(|error| self.wrap(error))
    }

    /// Everything is saved: Azure may begin early.
    pub(crate) fn approve(&self, notice: &CloudNotice) -> Result<(), ShelterError> {
        if self.source.cloud != Cloud::Azure {
            return Ok(());
        }
        let answer = self.ask(&MetadataRequest::azure_start(&notice.id))?;
        answer.text().map(drop).map_err(|error| self.wrap(error))
    }

    fn wrap(&self, source: NoticeError) -> ShelterError {
        ShelterError::Notice { address: self.source.address.clone(), source }
    }

    fn ask(&self, request: &MetadataRequest) -> Result<MetadataAnswer, ShelterError> {
        let address = &self.source.address;
        let bytes = exchange(address, &request.to_bytes(address)).map_err(ShelterError::io("ask", address))?;
        MetadataAnswer::parse(&bytes).map_err(|error| self.wrap(error))
    }
}

/// Sends a request and reads until the other side closes.
fn exchange(address: &str, request: &[u8]) -> io::Result<Vec<u8>> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for place in address.to_socket_addrs()? {
        let mut stream = match TcpStream::connect_timeout(&place, CONNECT_TIME) {
            Ok(stream) => stream,
            Err(error) => {
                last = error;
                continue;
            }
        };
        stream.set_read_timeout(Some(ANSWER_TIME))?;
        stream.set_write_timeout(Some(CONNECT_TIME))?;
        stream.write_all(request)?;
        let mut bytes = Vec::new();
        stream.take(ANSWER_BYTES_MAX as u64).read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    Err(last)
}
