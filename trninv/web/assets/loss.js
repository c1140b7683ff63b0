import{A as e,L as t,O as n,a as r,c as i,u as a,x as o}from"./words.js";import{E as s,t as c}from"./jsxRuntime.js";import{v as l,y as u}from"./index.js";function d({name:e,now:t,before:n,unit:a=``,less:o=!1,isAnswer:l=!1,note:u}){let d=e=>e===null?`none`:i(e),p=e=>e===null||!a?``:` ${f(a,e)}`,m=n!==void 0&&n!==t,h=m&&(t===null||n!==null&&(o?t>n:t<n));return c(`div`,{class:l?`answer`:void 0,children:[c(`dt`,{children:e}),c(`dd`,{children:[m&&c(s,{children:[c(`s`,{children:[c(`span`,{class:`unseen`,children:`before `}),d(n)]}),` `,c(`span`,{"aria-hidden":`true`,children:`→`}),` `]}),c(`strong`,{children:[d(t),p(t)]}),(u||m&&n!==null&&t!==null)&&c(s,{children:[` `,c(`em`,{class:u?`quiet`:h?`worse`:`better`,children:u??r(n,t)})]})]})]})}var f=(e,t)=>e===`hop`||e===`link`||e===`chip`?`${e}${t===1?``:`s`}`:e,p=n(`
  fragment Surroundings on Server {
    address ordinal state model instance host vcpus
    hostMemory { gibibytes }
    lastChange { ...Changed }
    chips(first: 64) { nodes { address ordinal state tray job use lastChange { why } } }
    nics(first: 64) { nodes { address ordinal state factor bandwidth { gigabytesPerSecond } } }
    rack {
      address ordinal rackUnits
      servers(first: 36) { nodes { address ordinal state trays { ordinal kind rackUnits } } }
    }
    domain {
      address model wiring
      servers(first: 64) { nodes { rack { address } } }
      switches(first: 100) { nodes { address ordinal state lastChange { why } server { ordinal } rack { ordinal } } }
      links(filter: { scope: { in: [SERVER, RACK, DOMAIN] } }, first: 1000) {
        nodes {
          address state technology scope
          nominal { gigabytesPerSecond }
          bandwidth { gigabytesPerSecond }
          a { address }
          b { address }
        }
      }
    }
  }
`,[l]),m=n(`
  fragment Placed on Layout {
    box { x y width height }
    font
    strokeWidth
    panels { x y width height }
    labels { text x y anchor strong }
    places { address x y width height text sign solid { x y z } }
    routes { address strokes sign }
    wrapLinks
  }
`),h=n(`
  fragment History on EventConnection { totalCount nodes { ...Changed address batch } }
`,[l]),g=n(`
  query ServerPage($address: Address!, $domain: Address!, $inside: String!, $narrow: Boolean!) {
    incidents(scope: $address, first: 1) { nodes { id } }
    cordons(scope: $address, first: 1) { nodes { why who startedAt } }
    allLinks: links(filter: { domain: { eq: $domain }, address: { contains: $inside } }, first: 1) { totalCount }
    idleLinks: links(
      filter: { domain: { eq: $domain }, address: { contains: $inside }, bandwidth: { eq: { bytesPerSecond: "0" } } }
      first: 1
    ) { totalCount }
    nicLinks: links(
      filter: { domain: { eq: $domain }, address: { contains: $inside }, scope: { in: [HOST, FABRIC] } }
      first: 1
    ) { totalCount }
    layout(place: $address, narrow: $narrow) { ...Placed }
    events(scope: $address, last: 500) { ...History }
    resolve(address: $address) { __typename ... on Server { factor ...Surroundings } }
  }
`,[p,m,h]),_=n(`
  query ChipPage($address: Address!, $server: Address!, $narrow: Boolean!) {
    incidents(scope: $address, first: 1) { nodes { id } }
    layout(place: $server, narrow: $narrow) { ...Placed }
    events(scope: $address, last: 100) { ...History }
    resolve(address: $address) {
      __typename
      ... on Chip {
        address state factor tray job use
        memory { gibibytes }
        memoryBandwidth { gigabytesPerSecond }
        model { name coreModel }
        cores(first: 1) { totalCount }
        lastChange { ...Changed }
        links(first: 64) { nodes { ...WireWithEnds } }
        server { ...Surroundings }
      }
    }
  }
`,[p,m,h,l,u]),v=n(`
  fragment Capability on DomainImpact {
    domain chipsBefore chipsNow incomparable
    poolBefore { gibibytes }
    poolNow { gibibytes }
    bisectionBefore { lower { gigabytesPerSecond } upper { gigabytesPerSecond } exact }
    bisectionNow { lower { gigabytesPerSecond } upper { gigabytesPerSecond } exact }
    allGatherBefore { lower { gigabytesPerSecond } upper { gigabytesPerSecond } exact }
    allGatherNow { lower { gigabytesPerSecond } upper { gigabytesPerSecond } exact }
  }
`),y=n(`
  query Loss($scope: Address!, $domain: Address!) {
    chips(filter: { domain: { eq: $domain } }, first: 1) { aggregates(by: [STATE]) { state count } }
    incidents(scope: $scope, first: 1) { nodes { jobs impact { domains { ...Capability } } } }
  }
`,[v]),b=e=>e===`up`||e===`degraded`,x=({allGatherBefore:e,allGatherNow:t,bisectionBefore:n,bisectionNow:r,incomparable:i})=>t.upper.gigabytesPerSecond<e.lower.gigabytesPerSecond||!i&&r.upper.gigabytesPerSecond<n.lower.gigabytesPerSecond;function S({loss:e,of:t}){let n=e=>t?`${e} ${e===`Working chips`?`in`:`of`} ${t}`:e;return c(s,{children:[c(d,{name:n(`Working chips`),before:e.chipsBefore,now:e.chipsNow}),c(d,{name:n(`All-gather limit`),before:e.allGatherBefore.upper.gigabytesPerSecond,now:e.allGatherNow.upper.gigabytesPerSecond,unit:`GB/s`}),c(d,{name:n(`Bisection bandwidth`),before:e.bisectionBefore.upper.gigabytesPerSecond,now:e.bisectionNow.upper.gigabytesPerSecond,unit:`GB/s`,note:e.incomparable?`of ${e.chipsNow}, not ${e.chipsBefore} chips`:void 0}),c(d,{name:n(`Memory pool`),before:e.poolBefore.gibibytes,now:e.poolNow.gibibytes,unit:`GiB`})]})}var C=({incidents:e},t)=>e.nodes[0]?.impact.domains.find(e=>e.domain===t);function w({scope:n,domain:r,jobs:i=[]}){let a=t(e(y,{scope:n,domain:r}));return c(o,{result:a,children:({chips:e,incidents:t})=>{let[n]=t.nodes,a=C({incidents:t},r),o=e.aggregates.reduce((e,{state:t,count:n})=>e+(b(t)?n:0),0),s=a&&x(a)?i.filter(e=>!n?.jobs.includes(e)):[];return c(`dl`,{class:`figures`,children:[a?c(S,{loss:a}):c(d,{name:`Working chips`,before:void 0,now:o}),s.length>0&&c(`div`,{children:[c(`dt`,{children:`Slower jobs`}),c(`dd`,{children:s.join(`, `)})]})]})}})}var T=({scope:e,domain:t})=>c(`div`,{class:`inner loss`,children:[c(`h3`,{children:[`Domain `,a(t.split(`/`)[0]??``,t),`, before → now`]}),c(w,{scope:e,domain:t})]});function E({domain:n,jobs:r,causes:i,children:a}){let{data:o}=t(e(y,{scope:n,domain:n}));return c(s,{children:[c(`section`,{class:`card flush cost`,"aria-label":`What it costs`,children:[c(`h2`,{children:[`What `,i>1?`the worst cause`:`it`,` costs `,c(`span`,{class:`quiet`,children:`before → now`})]}),c(`div`,{class:`inner loss`,children:c(w,{scope:n,domain:n,jobs:r})})]}),o&&!C(o,n)&&a]})}export{v as a,d as c,x as i,T as n,_ as o,S as r,g as s,E as t};